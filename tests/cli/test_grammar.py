"""The same words on every command: every field of a plan, lists by commas or repetition, no idle option."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.cli.large import head_of
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.plan.options import OPTIONS

PLANNED = ("protect", "compare", "suggest", "bound", "plan", "check", "measure")
#: A table of numbers, an ordered and an unordered category, a weight, a stratum and codes for gaps.
MIXED = (
    *("-c", "wages,size", "-c", "sector", "--type", "sector=nominal,size=ordinal"),
    *(
        "--levels",
        "size=small,middle,large",
        "--stratum",
        "region",
        "--weight",
        "w",
        "--scaling",
        "wages=rank",
    ),
    *("--column-weight", "wages=2", "--missing-code", "wages=-9", "--keep", "profit,turnover"),
)


@pytest.fixture
def data(tmp_path):
    table = survey(150).select(["wages", "sector", "region", "turnover", "profit"])
    sizes = pa.array(["small", "middle", "large"] * 50)
    wages = pa.array([-9 if row < 3 else wage for row, wage in enumerate(table["wages"].to_pylist())])
    table = table.set_column(0, "wages", wages).append_column("size", sizes)
    path = tmp_path / "firms.csv"
    shoal.write(table.append_column("w", pa.array([1.0, 2.0] * 75)), path)
    return path


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


@pytest.mark.parametrize("command", PLANNED)
def test_every_command_has_every_option_of_a_plan(command):
    text = call(command, "--help").output
    for option in OPTIONS:
        assert all(flag in text for flag in option.flags), option.field
    assert "--plan" in text
    assert "-k" in text


def test_a_table_of_every_kind_is_taken_by_every_command(data, tmp_path):
    written = call("plan", data, "-k", 3, "-m", "VMDAV", *MIXED).stdout
    plan = tmp_path / "plan.toml"
    plan.write_text(written)
    asked = shoal.Plan.read(plan)
    assert (asked.method, asked.weight, asked.strata) == ("vmdav", "w", ("region",))
    assert asked.levels == {"size": ["small", "middle", "large"]}
    assert asked.types == {"sector": "nominal", "size": "ordinal", "wages": "integer"}
    assert asked.missing_codes == {"wages": (-9,)}
    release = tmp_path / "out.csv"
    call("protect", data, "--plan", plan, "-o", release)
    call("check", release, "--plan", plan, "--original", data)
    words = ("-k", 3, "-k", "5", "-m", "VMDAV", "--bound-time", 0, "--json")
    runs = json.loads(call("compare", data, *words, *MIXED).stdout)["runs"]
    assert [(run["method"], run["k"]) for run in runs] == [("vmdav", 3), ("vmdav", 5)]
    assert json.loads(call("compare", data, *words, "--plan", plan).stdout)["runs"][0]["k"] == 3
    suggested = call("suggest", data, "--plan", plan, "-k", "3,5", "--max-risk", 1, "--json")
    assert json.loads(suggested.stdout)["k"] == 3


def test_a_bound_of_categories_lies_below_every_release_of_them(data, tmp_path):
    few, hour = tmp_path / "few.csv", ("--time-limit", 3600)  # the proof ends long before
    shoal.write(shoal.read(data).slice(0, 30), few)
    words = ("-k", 3, "-c", "turnover,sector", "--type", "sector=nominal")
    saved = ("--save", tmp_path / "c.npz", "--json")
    proven = json.loads(call("bound", few, *words, *hour, *saved).stdout)["bound"]
    call("bound", few, *words, "--verify", tmp_path / "c.npz")
    call("bound", few, "-k", 3, "-c", "turnover", "--verify", tmp_path / "c.npz", status=1)
    for method in ("auto", "vmdav"):
        release = shoal.microaggregate(
            few, 3, columns=["turnover", "sector"], types={"sector": "nominal"}, method=method
        )
        assert 0 < proven <= release.information_loss
    assert release.bound(3600).information_loss == pytest.approx(proven, rel=1e-6)
    assert (
        shoal.lower_bound(data, 3, columns="wages", missing_codes=[-9], missing="drop").records.shape[0]
        == 147
    )


BOUND = "a bound holds for every method, scaling, stratum and requirement"
SLIPS = {
    "idle type": (
        ("protect", "-k", 3, "-c", "wages", "--type", "sector=nominal"),
        "types has no effect on column",
    ),
    "idle log": (
        ("protect", "-k", 3, "-c", "wages", "--log", "profit"),
        "log has no effect on column 'profit'",
    ),
    "idle merge": (("protect", "-k", 3, "-c", "wages", "--merge-small-strata"), "no effect without strata"),
    "idle seed": (("bound", "-k", 3, "-c", "wages", "--seed", 1), f"--seed has no effect here: {BOUND}"),
    "idle method": (("check", "-k", 3, "-m", "mdav"), "--method has no effect here: without --original"),
    "idle scaling": (("check", "-k", 3, "--scaling", "rank"), "--scaling has no effect here: without"),
    "idle order": (
        ("compare", "-c", "wages", "--order", "keep"),
        "--order has no effect here: what is tried",
    ),
    "idle key": (("suggest", "-c", "wages", "--pseudonyms", "key"), "--pseudonyms has no effect here"),
    "idle time": (
        ("protect", "-k", 3, "-c", "wages", "--bound-time", 5),
        "--bound-time has no effect without --bound",
    ),
    "idle apostrophe": (
        ("protect", "-k", 3, "-c", "wages", "--safe-cells", "-o", "x.parquet"),
        "--safe-cells has no effect here: it is for CSV and TSV",
    ),
    "gap": (
        ("optimum", "-k", 3, "-c", "wages", "--missing-code", -9),
        "the optimum is proven of records without weights and gaps",
    ),
    "weighted": (
        ("optimum", "-k", 3, "-c", "wages", "--weight", "w"),
        "the optimum is proven of records without weights and gaps",
    ),
    "comma": (("protect", "-k", 3, "-c", "wages,,profit"), "something is missing at a comma"),
    "pair": (("compare", "-c", "wages", "--type", "wages"), "--type takes COLUMN=WORD, not 'wages'"),
    "plan and option": (("compare", "--plan", "p.toml", "--seed", 1), "--seed is the plan's to say"),
    "level": (
        ("compare", "-c", "size", "--levels", "size=small,large"),
        "column 'size' has in row 2 what is not among its 2 levels",
    ),
    "several k": (
        ("protect", "-k", "3,5", "-c", "wages"),
        "k must be a whole number of at least 1, not '3,5'",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_are_answered_in_one_sentence(data, name):
    (command, *words), sentence = SLIPS[name]
    outcome = call(command, data, *words, status=2)
    assert sentence in " ".join(outcome.stderr.split())
    assert [path.name for path in data.parent.iterdir()] == ["firms.csv"]


def test_a_plan_for_another_table_names_the_column_that_is_not_there(data, tmp_path):
    (tmp_path / "plan.toml").write_text(shoal.Plan(3, columns=["income"]).toml())
    for command in ("protect", "compare", "bound", "suggest"):
        assert (
            "there is no column 'income'"
            in call(command, data, "--plan", tmp_path / "plan.toml", status=2).stderr
        )


def test_python_takes_the_fields_of_a_plan_too(data):
    fields = {"columns": ["turnover", "sector"], "types": {"sector": "nominal"}, "strata": "region"}
    tried = shoal.compare(data, [3, 5], "VMDAV", bound_time=5, **fields)
    assert [run.k for run in tried.runs] == [3, 5]
    assert all(tried.bounds[run.k] <= run.information_loss for run in tried.runs)
    assert shoal.suggest(data, 1.0, k=[3], method="vmdav", **fields).k == 3
    with pytest.raises(InputError, match="unknown keyword 'stratum': did you mean 'strata'"):
        shoal.compare(data, 3, stratum="region")


# --- fail before the work, never hide a finished release ----------------------------------------------------

EARLY = {
    "confidential": (("--report", "r.html", "--confidential", "profitt"), "there is no column 'profitt'"),
    "confidential alone": (("--confidential", "profit"), "--confidential has no effect without a report"),
    "formula": (("--report", "r.html", "--formula", "wages ~ nothing"), "nothing"),
    "formula alone": (("--formula", "wages ~ profit"), "--formula has no effect without a report"),
    "sum": (("--report", "r.html", "--sum", "wages = a + b"), "no column 'a'"),
    "folder": (("--report", "nowhere/r.html"), "the folder 'nowhere' does not exist"),
    "guesses": (("--accept-guesses",), "--accept-guesses has no effect: -c or the plan says what to protect"),
}


@pytest.mark.parametrize("name", EARLY)
def test_what_can_be_refused_is_refused_before_grouping(data, name, monkeypatch):
    words, sentence = EARLY[name]
    monkeypatch.chdir(data.parent)
    monkeypatch.setattr("shoal.pipeline.run", lambda *_, **__: pytest.fail("grouped"))
    assert sentence in call("protect", data, "-k", 3, "-c", "wages", *words, status=2).stderr
    assert [path.name for path in data.parent.iterdir()] == ["firms.csv"]


@pytest.mark.parametrize(
    ("error", "status"), [(InputError("no"), 2), (OSError("full"), 3), (KeyError("x"), 3)]
)
def test_a_step_that_fails_later_does_not_hide_the_release(data, monkeypatch, error, status):
    def fail(*_):
        raise error

    monkeypatch.setattr("shoal.cli.protect.write_reports", fail)
    target = data.with_name("out.csv")
    words = (
        "protect",
        data,
        "-k",
        3,
        "-c",
        "wages",
        "-o",
        target,
        "--report",
        data.with_name("r.html"),
        "--json",
    )
    outcome = call(*words, status=status)
    assert f"the release is finished and checked ({target}), but what was to follow failed" in outcome.stderr
    assert json.loads(outcome.stdout)["output"] == str(target)
    call("check", target, "-k", 3, "-c", "wages")


@pytest.mark.parametrize("why", ["columns apart", "out of memory"])
def test_what_cannot_be_bounded_is_a_note(data, monkeypatch, why):
    """Known before the work, or not: the release is finished, and the status is 0."""
    words, sentence = ("--per-column",), "no bound can be proven: a bound holds for groups of whole"
    if why == "out of memory":

        def fail(*_):
            raise MemoryError("too little")

        monkeypatch.setattr("shoal.release.Release.bound", fail)
        words, sentence = (), "no bound was proven (MemoryError: too little)"
    target = data.with_name("out.csv")
    columns = ("-c", "turnover", "-c", "profit")
    outcome = call("protect", data, "-k", 3, *columns, *words, "-o", target, "--bound", "--json")
    assert outcome.stderr.count(sentence) == 1
    facts = json.loads(outcome.stdout)
    assert sum(sentence in note for note in facts["notes"]) == 1
    assert facts.get("bound") is None
    assert target.exists()


@pytest.mark.parametrize("words", [(), ("--per-column",)])
def test_what_the_method_has_proven_is_not_searched_again(data, monkeypatch, words):
    """Columns by themselves too, for which no other bound is known."""
    monkeypatch.setattr("shoal.release.Release.bound", None)
    words = ("-k", 3, "-c", "turnover,profit", "-m", "exact", "--time-limit", 2, *words, "--bound", "--json")
    outcome = call("protect", data, *words, "-o", data.with_name("out.csv"))
    facts = json.loads(outcome.stdout)
    assert facts["bound_method"] == "exact"
    assert 0 < facts["bound"] <= facts["information_loss"] <= facts["bound"] * (1.01 + facts["gap"])
    assert "no release with k=3 can lose less than" in outcome.stderr
    assert not any("no bound" in note for note in facts["notes"])


# --- guesses -------------------------------------------------------------------------------------------


def test_without_columns_guesses_are_shown_and_wait_for_a_word(data, tmp_path):
    outcome = call("protect", data, "-k", 3, status=2)
    said = " ".join(outcome.stderr.split())
    assert "guesses are not applied unasked: add --accept-guesses" in said
    assert "such as -c wages,sector,region" in said
    assert "a text with" in said
    target = tmp_path / "out.csv"
    call("protect", data, "-k", 3, "--accept-guesses", "-o", target)
    written = call("plan", data, "-k", 3).stdout
    (tmp_path / "plan.toml").write_text(written)
    call("protect", data, "--plan", tmp_path / "plan.toml", "-o", tmp_path / "same.csv")
    assert target.read_bytes() != data.read_bytes()
    assert sorted(target.read_text().splitlines()) == sorted((tmp_path / "same.csv").read_text().splitlines())


def test_plain_numbers_need_no_word(tmp_path):
    path = tmp_path / "numbers.csv"
    shoal.write(survey(60).select(["turnover", "wages", "profit"]), path)
    call("protect", path, "-k", 3)


def test_guesses_are_shown_for_tables_on_disk_too(tmp_path):
    path, target = tmp_path / "firms.parquet", tmp_path / "out.parquet"
    firms = survey(150).select(["turnover", "wages"])
    shoal.write(firms.append_column("email", pa.array([f"a{row}@b.org" for row in range(150)])), path)
    large = ("protect", path, "-k", 3, "--engine", "disk", "-o", target)
    said = call(*large, status=2).stderr
    assert "guesses are not applied unasked: add --accept-guesses" in said
    assert "turnover" in said
    assert not target.exists()
    call(*large, "--accept-guesses")
    assert shoal.read(target).column_names == ["turnover", "wages"]
    gone = str(tmp_path / "hdfs" / "firms.parquet")
    said = call("protect", gone, "-k", 3, "--engine", "spark", status=2).stderr
    assert "is not on this machine, so nothing is guessed: name the columns with -c" in said


def test_guesses_look_at_the_first_records(tmp_path):
    shoal.write(survey(150), tmp_path / "firms.parquet")
    assert len(head_of(str(tmp_path / "firms.parquet"), 40)) == 40
    assert len(head_of(str(tmp_path / "firms.parquet"))) == 150
