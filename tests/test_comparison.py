"""Many plans on one table: what is run, how it is ordered, which k is suggested and why."""

import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.comparison import Run, by_loss, neighbours, some_of
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.plan import Plan
from shoal.suggestion import CANDIDATES, FEW


@pytest.fixture(scope="module")
def table():
    return survey(200).drop_columns(["region", "sector"])


@pytest.fixture(scope="module")
def found(table):
    return shoal.compare(table, [3, 5, 10], ["mdav", "mdav_generic", "univariate"], bound_time=None)


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def test_every_combination_is_run_as_it_would_be_alone(table, found):
    assert len(found.runs) == 6
    assert [failure.k for failure in found.failures] == [3, 5, 10]
    assert all("groups by one column" in failure.error for failure in found.failures)
    for run in found.runs:
        release = shoal.microaggregate(table, run.k, method=run.method)
        assert run.information_loss == release.information_loss
        risk = shoal.risk(table, release.table, release.columns)
        assert run.risk == risk["linkage"].overall
        assert run.interval_disclosure == risk["interval_sd"].overall
        assert (run.groups, run.smallest_group) == (len(release.group_sizes), release.group_sizes.min())


def test_sorted_by_loss(found):
    losses = [run.information_loss for run in found.runs]
    assert losses == sorted(losses)


def test_pareto_front_by_hand():
    # b loses more than a and risks the same; d is beaten by c
    points = {"a": (1.0, 0.5), "b": (2.0, 0.5), "c": (3.0, 0.2), "d": (4.0, 0.3), "e": (5.0, 0.1)}
    runs = [Run(m, 2, loss, risk, risk, 0, 1, 2, 2, 0.0) for m, (loss, risk) in reversed(points.items())]
    assert [run.method for run in by_loss(runs) if run.pareto] == ["a", "c", "e"]


def test_one_thread_and_many_say_the_same(table, found):
    alone = shoal.compare(
        table, [3, 5, 10], ["mdav", "mdav_generic", "univariate"], workers=1, bound_time=None
    )
    assert [(r.method, r.k, r.information_loss, r.risk) for r in alone.runs] == [
        (r.method, r.k, r.information_loss, r.risk) for r in found.runs
    ]


def test_progress_reaches_the_end(table):
    seen = []
    shoal.compare(table, [3, 5], "mdav", bound_time=None, progress=seen.append)
    assert seen == [0.5, 1.0]


def test_bounds_are_used_where_there_are_some(table, monkeypatch):
    def least(records, k, weights, time_limit):
        return SimpleNamespace(information_loss=k / 10)

    monkeypatch.setattr("shoal.comparison.bound_matrix", least)
    found = shoal.compare(table, [3, 5], "mdav")
    assert found.bounds == {3: 0.3, 5: 0.5}
    assert "least at k=5" in found.svg()
    assert ",0.3\n" in found.csv()


def test_where_no_bound_can_be_had_there_is_none():
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=30), "b": rng.integers(0, 9, 30)})
    gaps = table.set_column(1, "b", pa.array([None, *table["b"].to_pylist()[1:]]))
    for each in (table, gaps):
        assert shoal.compare(each, [3], "mdav", bound_time=2).bounds.keys() == {3}
    assert shoal.compare(table, [3], "mdav", per_column=True).bounds == {}


def test_written_as_csv_json_and_svg(found, tmp_path):
    for name in ("c.csv", "c.json", "c.svg"):
        found.write(tmp_path / name)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text())))
    assert len(rows) == 6
    assert float(rows[0]["information_loss"]) == found.runs[0].information_loss
    facts = json.loads((tmp_path / "c.json").read_text())
    assert facts["runs"][0]["risk"] == found.runs[0].risk
    picture = ElementTree.parse(tmp_path / "c.svg").getroot()
    assert picture.get("role") == "img"
    assert "mdav at k=3 loses" in picture[0].text
    with pytest.raises(InputError, match=r"\.csv, \.json or \.svg"):
        found.write(tmp_path / "c.pdf")


def test_the_picture_is_the_same_every_time(found):
    assert found.svg() == found.svg()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"k": []}, "nothing to compare"),
        ({"methods": "mdva"}, "did you mean 'mdav'"),
        ({"method": ["mdav", "mst"]}, "the name of one method, not .* compare has methods="),
        ({"k": 300}, "needs at least 300 records"),
        ({"columns": ["trnover"]}, "did you mean 'turnover'"),
    ],
)
def test_requests_that_cannot_be(table, words, sentence):
    with pytest.raises(InputError, match=sentence):
        shoal.compare(table, **words)


def test_suggest_takes_the_least_loss_that_is_safe_enough(table):
    found = shoal.suggest(table, 0.15, methods="mdav")
    safe = [run for run in found.comparison.runs if run.risk <= 0.15]
    best = min(safe, key=lambda run: run.information_loss)
    assert (found.k, found.method) == (best.k, "mdav")
    assert f"k={best.k} (mdav): of all 10 runs" in found.reason
    assert "The next with less loss, k=" in found.reason


@pytest.mark.parametrize("max_risk", [0.04, 0.15, 0.5, 1.0])
def test_of_a_larger_table_only_sizes_that_decide_are_tried(max_risk):
    table = survey(FEW + 1).select(["turnover", "wages"])
    said: list[float] = []
    found = shoal.suggest(table, max_risk, methods="mdav", sample=200, progress=said.append)
    every = shoal.suggest(table, max_risk, k=CANDIDATES, methods="mdav", sample=200)
    assert len(found.comparison.runs) <= 4 < len(every.comparison.runs) == len(CANDIDATES)
    assert (found.k, found.method) == (every.k, every.method)
    assert {run.k: run.risk for run in found.comparison.runs}.items() <= {
        run.k: run.risk for run in every.comparison.runs
    }.items()
    assert said == sorted(said)
    assert said[-1] <= 1


def test_of_a_larger_table_sizes_that_a_stratum_is_too_small_for_are_passed_over():
    table = survey(FEW + 1).select(["turnover", "wages"])
    small = pa.array(["few" if i < 6 else "many" for i in range(len(table))])
    table = table.append_column("where", small)
    options = {"methods": "mdav", "sample": 200, "strata": ["where"]}
    assert shoal.suggest(table, 1.0, **options).k == 2
    tried = shoal.suggest(table, 0.3, **options).comparison
    assert max(run.k for run in tried.runs) <= 6 < min(one.k for one in tried.failures)
    assert {(one.method, "record" in one.error) for one in tried.failures} == {("mdav", True)}
    with pytest.raises(InputError, match="record"):
        shoal.suggest(table.slice(0, FEW + 1).set_column(2, "where", pa.array(range(FEW + 1))), **options)


def test_kept_columns_count_unless_nobody_knows_them(table, tmp_path):
    kept = survey(200)
    words = {"k": [5], "methods": "mdav", "bound_time": None}
    alone, less, more = (
        shoal.compare(data, known=known, **words).runs[0].risk
        for data, known in ((table, None), (kept, ()), (kept, None))
    )
    assert alone == less <= 0.2 < more
    shoal.write(kept, tmp_path / "firms.csv")
    for known, risk in (((), more), (("--known", "region,sector"), more), (("--known", ""), less)):
        outcome = call(
            "compare", tmp_path / "firms.csv", "-k", 5, "-m", "mdav", "--bound-time", 0, "--json", *known
        )
        assert json.loads(outcome.stdout)["runs"][0]["risk"] == pytest.approx(risk)
    call("suggest", tmp_path / "firms.csv", "-k", 10, "-m", "mdav", "--max-risk", 0.2, "--known", "")
    call("suggest", tmp_path / "firms.csv", "-k", 10, "-m", "mdav", "--max-risk", 0.2, status=1)


def test_suggest_says_when_nothing_is_safe_enough(table):
    found = shoal.suggest(table, 0.0001, k=[2, 3], methods="mdav")
    assert found.k is None
    assert "no k tried" in found.reason


def test_suggest_counts_the_upper_end_of_a_sample():
    X = np.random.default_rng(0).normal(size=(400, 2))
    found = shoal.suggest(X, 0.3, k=[3, 5, 10], methods="mdav", sample=50)
    assert all(run.risk_high > run.risk for run in found.comparison.runs)
    chosen = next(run for run in found.comparison.runs if run.k == found.k)
    assert chosen.risk_high <= 0.3
    assert "with 95 % confidence" in found.reason


def test_suggest_refuses_what_is_no_share(table):
    with pytest.raises(InputError, match="between 0 and 1"):
        shoal.suggest(table, 5)
    with pytest.raises(InputError, match="too few to hide"):
        shoal.suggest(np.ones((1, 1)))


def test_neighbours_keep_the_plan(table):
    release = shoal.microaggregate(table, 6, columns=["wages", "profit"], method="mdav")
    found = neighbours(release)
    assert sorted(run.k for run in found.runs) == [3, 6, 12, 24]
    assert found.columns == ("wages", "profit")
    assert neighbours(shoal.microaggregate(table, 1)) is None


def test_plans_are_tried_with_a_sample_of_a_large_table(tmp_path):
    """Drawn by chance; with units, of whole ones. The figures are those of the sample, as a note says."""
    rng = np.random.default_rng(0)
    cells = {"x": rng.normal(size=20_600), "y": rng.normal(size=20_600), "who": rng.integers(0, 9000, 20_600)}
    (tmp_path / "large").mkdir()
    pq.write_table(pa.table(cells), tmp_path / "large" / "0.parquet")
    asked = {"columns": ["x", "y"], "method": "mdav", "diversity": {"who": 6}, "bound_time": None}
    tried = shoal.compare(tmp_path / "large", k=5, price=True, **asked)
    said = "tried with a sample of 20,000 of 20,600 records, drawn by chance: of fewer records more is lost"
    assert tried.notes[0].startswith(said)
    assert tried.facts()["notes"] == list(tried.notes)
    frame, _ = some_of(tmp_path / "large", Plan(5, columns=["x", "y"]))
    assert tried.records == len(frame) == 20_000
    alike = shoal.compare(frame.native, k=5, price=True, **asked)
    assert alike.notes == ()
    for ours, theirs in zip(tried.runs, alike.runs):
        assert replace(ours, seconds=0) == replace(theirs, seconds=0)
    whole, _ = some_of(tmp_path / "large", Plan(5, columns=["x", "y"], unit="who"))
    units, often = np.unique(whole.native["who"], return_counts=True)
    assert 19_900 < often.sum() <= 20_000
    assert np.array_equal(often, np.bincount(cells["who"])[units])
    done = call("suggest", tmp_path / "large", "-c", "x,y", "-m", "mdav", "-k", 5, "--max-risk", 1, "--json")
    assert json.loads(done.stdout)["comparison"]["notes"] == list(tried.notes)
    assert said in " ".join(done.stderr.split())


def test_a_unit_of_more_records_than_a_sample_is_left_out_of_it(tmp_path):
    """Whether it is drawn first or not: all other units are there, and the note says it."""
    who = np.r_[np.zeros(20_300, np.int64), np.repeat(np.arange(1, 101), 3)]
    (tmp_path / "large").mkdir()
    pq.write_table(pa.table({"x": np.arange(20_600.0), "who": who}), tmp_path / "large" / "0.parquet")
    for seed in range(8):
        some, notes = some_of(tmp_path / "large", Plan(5, columns="x", unit="who", seed=seed))
        assert np.array_equal(some.native["who"], who[20_300:])
        said = "tried with a sample of 300 of 20,600 records, of units of up to 20,000 by chance: of fewer"
        assert notes[0].startswith(said)


def test_a_folder_of_few_records_is_compared_as_a_whole(table, tmp_path):
    (tmp_path / "few").mkdir()
    shoal.write(table, tmp_path / "few" / "0.parquet")
    asked = {"k": 5, "columns": ["wages"], "methods": "mdav", "bound_time": None}
    ours, theirs = (shoal.compare(data, **asked) for data in (tmp_path / "few", table))
    assert ours.notes == ()
    assert [run.information_loss for run in ours.runs] == [run.information_loss for run in theirs.runs]


def test_tables_of_a_database_are_compared(table, tmp_path):
    url = f"sqlite:///{tmp_path}/firms.db#firms"
    shoal.write(table, url)
    shoal.write(table, tmp_path / "firms.csv")
    words = ("-k", "3,10", "-m", "mdav", "--json")
    from_url, from_file = (
        json.loads(call("compare", source, *words, "--bound-time", 0).stdout)
        for source in (url, tmp_path / "firms.csv")
    )
    assert [run["information_loss"] for run in from_url["runs"]] == [
        run["information_loss"] for run in from_file["runs"]
    ]
    assert json.loads(call("suggest", url, "--max-risk", "0.2", *words).stdout)["k"] == 10
    assert shoal.suggest(url, 0.2, k=[3, 10], methods="mdav").k == 10
    missing = call("compare", f"sqlite:///{tmp_path}/firms.db#frims", status=2).stderr
    assert "the database cannot answer" in missing


def test_command_line(table, tmp_path):
    path = tmp_path / "firms.csv"
    shoal.write(table, path)
    before = path.read_bytes()
    words = ("-k", "3,5", "-m", "mdav,univariate", "-o", tmp_path / "map.svg", "--bound-time", 0, "--json")
    outcome = call("compare", path, *words)
    facts = json.loads(outcome.stdout)
    assert [run["k"] for run in facts["runs"]][:2] == [3, 5]
    assert "note: univariate at k=3" in outcome.stderr
    assert (tmp_path / "map.svg").exists()
    outcome = call("suggest", path, "--max-risk", "0.2", "-k", "3,10", "-m", "mdav", "--json")
    assert json.loads(outcome.stdout)["k"] == 10
    assert "k=10 (mdav)" in outcome.stderr
    assert "no k tried" in call("suggest", path, "--max-risk", "0.001", "-k", "3", status=1).stderr
    for bad, sentence in (
        (("compare", path, "-k", "3,,5"), "something is missing at a comma"),
        (("compare", path, "-k", "3,x"), "k must be a whole number"),
        (("compare", path, "-o", "map.pdf"), "has another ending"),
        (("suggest", path, "-o", "nowhere/map.svg"), "does not exist: make it first"),
        (("suggest", path, "--max-risk", "2"), "between 0 and 1"),
        (("compare", path, *words[:4], "-o", path), "is the input, which is never overwritten"),
        (("suggest", path, *words[:4], "-o", path), "is the input, which is never overwritten"),
    ):
        assert sentence in call(*bad, status=2).stderr
    assert path.read_bytes() == before


FIRMS = {"columns": ["turnover", "wages"], "method": "mdav"}


def test_rules_are_tried_as_k_is():
    tried = shoal.compare(
        shoal.datasets.survey(80), k=[3, 5], bound_time=5, diversity={"sector": [2, 3]}, **FIRMS
    )
    found = {(run.k, run.requirements): run.information_loss for run in tried.runs}
    assert set(found) == {(k, f"diversity sector={least}") for k in (3, 5) for least in (2, 3)}
    assert found[3, "diversity sector=2"] <= found[3, "diversity sector=3"]
    assert all(run.information_loss >= tried.bounds[run.k] > 0 for run in tried.runs)
    with pytest.raises(InputError, match="an empty list of rules"):
        shoal.compare(shoal.datasets.survey(80), k=3, diversity={"sector": []}, **FIRMS)


def test_the_price_is_the_loss_without_each_requirement_and_without_all():
    firms = shoal.datasets.survey(80)
    asked = {"diversity": {"sector": 3}, "dominance": {"turnover": "1:60"}}
    release = shoal.microaggregate(firms, 3, **FIRMS, **asked)
    priced = shoal.price(release, bound_time=5)
    found = {run.requirements: run.information_loss for run in priced.runs}
    assert set(found) == {
        "diversity sector=3, dominance turnover=1:60",
        "diversity sector=3",
        "dominance turnover=1:60",
        "",
    }
    assert found["diversity sector=3, dominance turnover=1:60"] == release.information_loss
    assert found[""] == shoal.microaggregate(firms, 3, **FIRMS).information_loss < release.information_loss
    assert 0 < priced.bounds[3] <= found[""]
    compared = shoal.compare(firms, k=3, price=True, bound_time=None, **FIRMS, **asked)
    assert {run.requirements: run.information_loss for run in compared.runs} == found
    with pytest.raises(InputError, match="asks for no requirement whose price could be told"):
        shoal.price(shoal.microaggregate(firms, 3, **FIRMS))


def test_a_suggestion_names_the_requirement_and_a_method_is_not_tried_without_what_it_needs():
    firms = shoal.datasets.survey(80)
    found = shoal.suggest(
        firms,
        0.5,
        k=[5],
        methods=["tclose_merge"],
        known=(),
        columns=["turnover", "wages"],
        closeness={"sector": [0.2, 0.4]},
    )
    assert found.requirements == "closeness sector=0.4"
    assert "k=5 (tclose_merge; closeness sector=0.4)" in found.reason
    assert found.facts()["requirements"] == found.requirements
    tried = shoal.compare(
        firms,
        k=5,
        methods=["tclose_merge", "mdav"],
        columns=["turnover", "wages"],
        price=True,
        closeness={"sector": 0.4},
        bound_time=None,
    )
    assert {(run.method, run.requirements) for run in tried.runs} == {
        ("tclose_merge", "closeness sector=0.4"),
        ("mdav", "closeness sector=0.4"),
        ("mdav", ""),
    }
    none = shoal.compare(firms, k=[5], closeness={"sector": [0.0001, 0.4]}, bound_time=None, **FIRMS)
    assert [failure.requirements for failure in none.failures] == ["closeness sector=0.0001"]


def test_units_and_contributors_have_a_price():
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(60, 2))
    table = pa.table({"a": cells[:, 0], "b": np.where(rng.random(60) < 0.4, np.nan, cells[:, 1])})
    table = table.append_column("person", pa.array(np.arange(60) // 3))
    asked = {"columns": ["a", "b"], "unit": "person", "contributors": 3, "method": "mdav"}
    release = shoal.microaggregate(table, 3, **asked)
    found = {run.requirements: run.information_loss for run in shoal.price(release, bound_time=None).runs}
    three, one = "contributors=3", "contributors=1"
    assert set(found) == {f"unit person, {three}", f"unit person, {one}", three, one}
    dropped = {"columns": ["a", "b"], "roles": {"person": "identifier"}, "contributors": 1, "method": "mdav"}
    assert found[one] == shoal.microaggregate(table, 3, **dropped).information_loss
    assert found["unit person, contributors=3"] == release.information_loss
    assert [told["reached"] for told in release.outcome.requirements] == [3, 3]


def test_the_usual_contributors_have_a_price_where_cells_are_missing():
    rng = np.random.default_rng(5)
    cells = rng.normal(size=(60, 2))
    table = pa.table({"a": cells[:, 0], "b": np.where(rng.random(60) < 0.7, np.nan, cells[:, 1])})
    asked = {"columns": ["a", "b"], "method": "mdav", "missing": "impute"}
    release = shoal.microaggregate(table, 3, **asked)
    (told,) = release.outcome.requirements
    assert told["said"].startswith("at least 2 contributors to each published cell: asked 2, reached 2, 0 of")
    assert ("each group has", told["said"]) in release.outcome.rows()
    found = {run.requirements: run.information_loss for run in shoal.price(release, bound_time=None).runs}
    lone = shoal.microaggregate(table, 3, **asked, contributors=1)
    assert found == {"": release.information_loss, "contributors=1": lone.information_loss}
    assert lone.information_loss < release.information_loss
    assert lone.outcome.requirements == ()
    compared = shoal.compare(table, k=3, price=True, bound_time=None, **asked)
    assert {run.requirements: run.information_loss for run in compared.runs} == found


def test_the_command_line_tries_rules_and_tells_prices(tmp_path):
    shoal.write(survey(60), tmp_path / "firms.csv")
    firms = (tmp_path / "firms.csv", "-c", "turnover,wages", "-k", 3)
    rules = ("--diversity", "sector=2", "--diversity", "sector=recursive:3,2")
    done = call("compare", *firms, "-m", "mdav", *rules, "--price", "--bound-time", 0, "--json")
    found = {run["requirements"] for run in json.loads(done.stdout)["runs"]}
    assert found == {"diversity sector=2", "diversity sector=recursive:3,2", ""}
    assert "beyond k" in done.stderr
    done = call("suggest", *firms, "-m", "mdav", *rules, "--max-risk", 1, "--json")
    assert json.loads(done.stdout)["requirements"] in found
    out = ("-o", tmp_path / "out.csv", "-m", "mdav", "--keep", "region,sector,employees")
    assert "a column has two rules" in call("protect", *firms, *rules, *out, status=2).stderr
    assert "no requirement whose price" in call("protect", *firms, *out, "--price", status=2).stderr
    priced = ("--dominance", "turnover=pq:10,50", "--price", "--json")
    done = call("protect", *firms, *out, *rules[:2], *priced)
    assert [run["requirements"] for run in json.loads(done.stdout)["price"]["runs"]].count("") == 1


def test_a_report_tells_the_loss_without_each_requirement():
    release = shoal.microaggregate(survey(60), 3, diversity={"sector": 2}, **FIRMS)
    from shoal.report import build

    reasons = build(release, comparison=neighbours(release), bound_time=None)["why_k"]["reasons"]
    told = [reason for reason in reasons if reason.startswith("With no requirement beyond k only")]
    assert len(told) == 1
