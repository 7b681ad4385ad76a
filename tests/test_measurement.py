"""Any pair of tables is judged: rows matched by a key, by the plan, by their places, or not at all."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.verify.files import check_original
from tests.cli.test_commands import call

COLUMNS = ["turnover", "wages"]


@pytest.fixture
def pair(tmp_path):
    """An original with a key, and its release by another hand: shuffled, with ten records fewer."""
    original = survey(60).append_column("id", pa.array([f"f{j:02d}" for j in range(60)]))
    release = shoal.microaggregate(original, 5, columns=COLUMNS, method="mdav", keep="id").table
    rows = np.random.default_rng(0).permutation(60)[:50]
    shoal.write(original, tmp_path / "in.csv")
    shoal.write(release.take(rows), tmp_path / "out.csv")
    return original, release, rows, tmp_path


def test_rows_are_matched_by_a_key(pair):
    original, release, rows, folder = pair
    found = shoal.measure(folder / "in.csv", folder / "out.csv", columns=COLUMNS, key="id")
    there = original.take(rows)
    assert found.rows.tolist() == rows.tolist()
    lost = shoal.utility(there, release.take(rows), COLUMNS)
    assert found.utility["information_loss"].overall == lost["information_loss"].overall
    risk = shoal.risk(there, release.take(rows), COLUMNS)
    assert found.risk["linkage"].overall == risk["linkage"].overall
    assert "10 of 60 records of the original are not in the release" in found.notes
    listed = found.at_risk(50)
    assert [entry["row"] - 1 for entry in listed] == [rows[entry["released_row"] - 1] for entry in listed]
    assert np.mean([entry["chance"] for entry in listed]) == pytest.approx(risk["linkage"].overall)
    assert listed[0]["chance"] == max(entry["chance"] for entry in listed)


def test_what_is_wrong_with_large_tables_is_one_sentence_of_check_and_measure(tmp_path):
    """Partitions that differ, and a part that ends early: whichever of the two tables it is."""
    table = survey(60)
    for name in ("fine", "mixed", "cut"):
        for part in range(2):
            (tmp_path / name / f"part={part}").mkdir(parents=True)
            shoal.write(table.slice(30 * part, 30), tmp_path / name / f"part={part}" / "0.parquet")
    shoal.write(table.drop_columns(["wages"]), tmp_path / "mixed" / "part=1" / "0.parquet")
    part = tmp_path / "cut" / "part=1" / "0.parquet"
    part.write_bytes(part.read_bytes()[:-100])
    asked = {"columns": ["turnover", "part"]}
    assert shoal.measure(tmp_path / "fine", tmp_path / "fine", order="keep", **asked).risk["k"].overall == 1
    for name, said in (("mixed", "only one of .* has a column 'wages'"), ("cut", "it may be cut short")):
        for pair in ((tmp_path / "fine", tmp_path / name), (tmp_path / name, tmp_path / "fine")):
            with pytest.raises(InputError, match=said):
                shoal.measure(*pair, order="keep", **asked)
            with pytest.raises(InputError, match=said):
                check_original(*pair, **asked)
        with pytest.raises(InputError, match=said):
            shoal.check(tmp_path / name, 5, **asked)


def test_records_at_risk_of_a_large_table_are_sought_in_a_sample_that_is_named(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    x = np.random.default_rng(0).permutation(np.arange(100_200.0))
    for name, cells in (("in", x), ("out", x // 10)):
        pq.write_table(pa.table({"x": cells}), tmp_path / name / "0.parquet")
    words = ("measure", tmp_path / "in", tmp_path / "out", "-c", "x", "--order", "keep", "--at-risk", 3)
    done = call(*words, "--json")
    said = (
        "records at risk were sought among a sample of 100,000 of 100,200 records, drawn by chance: others "
        "may be as much at risk"
    )
    found = json.loads(done.stdout)
    assert found["notes"][-1] == said
    assert f"note: {said}" in " ".join(done.stderr.split())
    assert [entry["sought_among"] for entry in found["at_risk"]] == [100_000] * 3


def test_the_plan_tells_the_order_of_rows(tmp_path):
    shoal.write(survey(60), tmp_path / "in.csv")
    plan = shoal.Plan(4, columns=COLUMNS, method="mdav")
    release = shoal.pipeline.run(plan, tmp_path / "in.csv")
    release.write(tmp_path / "out.csv")
    (tmp_path / "plan.toml").write_text(plan.toml())
    words = ("measure", tmp_path / "in.csv", tmp_path / "out.csv", "--json")
    found = json.loads(call(*words, "--plan", tmp_path / "plan.toml", "--at-risk", 3).stdout)
    assert found["matched"]
    assert found["risk"]["linkage"]["overall"] == release.risk()["linkage"].overall
    assert found["risk_before"]["linkage"]["overall"] > 0.9
    assert len(found["at_risk"]) == 3
    assert not any("at risk" in note for note in found["notes"])
    alone = json.loads(call(*words, "-c", "turnover,wages").stdout)
    assert not alone["matched"]
    assert "linkage" not in alone["risk"]
    assert alone["risk"]["k"]["overall"] >= 4
    means = (tables["utility"]["means"]["overall"] for tables in (alone, found))
    assert next(means) == pytest.approx(next(means), rel=1e-6)
    assert "information_loss" not in alone["utility"]
    assert "only measures of whole tables are given" in alone["notes"][0]


@pytest.mark.parametrize("name", ["report.html", "report.json", "report.txt"])
def test_a_report_says_nothing_of_a_method_that_is_not_known(pair, name):
    folder = pair[-1]
    words = ("measure", folder / "in.csv", folder / "out.csv", "-c", "turnover,wages", "--key", "id")
    call(*words, "--report", folder / name, "--public-report", folder / f"public.{name}")
    text, public = (folder / name).read_text(), (folder / f"public.{name}").read_text()
    assert "made elsewhere, measured by shoal" in text
    assert "MDAV" not in text
    assert "linkage" not in public.lower()
    assert (folder / name).stat().st_mode & 0o77 == 0


def test_rows_that_do_not_keep_their_places_are_told(pair):
    original, release, _, _ = pair
    asked = {"columns": COLUMNS, "order": "keep"}
    wrong = shoal.measure(original, release.take(np.roll(np.arange(60), 7)), **asked)
    assert any("column 'region' has the same values in other rows" in note for note in wrong.notes)
    assert not any("in other rows" in note for note in shoal.measure(original, release, **asked).notes)


def test_slips(pair):
    original, release, _, folder = pair
    files = (folder / "in.csv", folder / "out.csv")
    for fields, sentence in (
        ({"key": "nr"}, "there is no column 'nr' in the original"),
        ({"key": "region"}, "'region' is empty or repeats in row"),
        ({"weight": "assets"}, "weight .--weight. has no effect, for rows were not matched"),
        ({"confidential": "profit"}, "confidential .--confidential. has no effect, for rows were not"),
        ({"order": "keep"}, "the original has 60 records for the plan, the release 50"),
        ({"key": "id", "columns": ["turnovr"]}, "no column 'turnovr'"),
        ({"key": "id", "confidential": "profitt"}, "there is no column 'profitt': did you mean 'profit'"),
        ({"key": "id", "colums": COLUMNS}, "unknown keyword 'colums'"),
    ):
        with pytest.raises(InputError, match=sentence):
            shoal.measure(*files, **fields)
    doubled = pa.concat_tables([release.slice(0, 30), release.slice(0, 30)])
    with pytest.raises(InputError, match="repeats in the release"):
        shoal.measure(original, doubled, key="id")
    with pytest.raises(InputError, match="row 1 of the release has a key that the original lacks"):
        shoal.measure(original.slice(1), release, key="id")
    with pytest.raises(InputError, match="share no numeric column"):
        shoal.measure(original, release.select(["id", "region"]), key="id")
    with pytest.raises(InputError, match="a report compares records, but rows were not matched"):
        shoal.measure(original, release, columns=COLUMNS).report(folder / "r.html")
    with pytest.raises(InputError, match="edition is 'internal' or 'public'"):
        shoal.measure(original, release, columns=COLUMNS, order="keep").model("secret")
    for words, sentence in (
        (("--at-risk", 5), "match them by --key, --plan or --order keep"),
        (("--key", "id", "--at-risk", -1), "--at-risk is a number of records, not -1"),
        (("--key", "id", "--method", "mdav"), "--method has no effect here: a measure looks at two tables"),
        (("--key", "id", "--report", folder / "in.csv"), "a report ends in"),
    ):
        assert sentence in call("measure", *files, *words, status=2).stderr


def test_tables_of_different_lengths_are_compared_as_wholes(pair):
    original, release, rows, folder = pair
    fewer = release.take(rows)
    formula = "turnover ~ wages + region"
    found = shoal.measure(original, fewer, columns=[*COLUMNS, "region"], formula=formula)
    assert found.notes[1] == "the original has 60 records, the release 50"
    assert not {"information_loss", "il1s", "changed"} & {*found.utility}
    assert {*found.risk} == {"k", "unique_rows"}
    before, after = (np.asarray(table["wages"], float) for table in (original, fewer))
    assert found.utility["means"].columns["wages"] == pytest.approx(
        (after.mean() - before.mean()) / before.std(ddof=1)
    )
    ratio = after.var(ddof=1) / before.var(ddof=1)
    assert found.utility["variances"].columns["wages"] == pytest.approx(100 * (ratio - 1))
    old, new = (
        np.corrcoef(*(np.asarray(table[name], float) for name in COLUMNS))[0, 1]
        for table in (original, fewer)
    )
    assert found.utility["correlations"].overall == pytest.approx(abs(new - old))
    shares = [
        np.array(
            [
                table["region"].to_pylist().count(level) / len(table)
                for level in sorted(set(original["region"].to_pylist()))
            ]
        )
        for table in (original, fewer)
    ]
    assert found.utility["hellinger"].columns["region"] == pytest.approx(
        np.sqrt(1 - np.sqrt(shares[0] * shares[1]).sum())
    )
    assert found.utility["regression"].detail["records"] == 50
    assert found.utility["pmse_logistic"].detail["records"] == 50
    published = list(zip(*(fewer[name].to_pylist() for name in [*COLUMNS, "region"])))
    assert found.risk["k"].overall == min(map(published.count, published))
    assert repr(found).startswith("Measurement(50 records, 3 columns")
    shown = call("measure", folder / "in.csv", folder / "out.csv", "-c", "turnover,wages").stderr
    assert "note: the original has 60 records, the release 50" in shown
    more = shoal.measure(fewer, pa.concat_tables([original, original]), columns=COLUMNS, unit="id")
    assert more.risk["k"].overall == 1  # each id is there twice: one unit
    note = "records were counted, not units: the release does not tell 'id' of its rows"
    assert note in shoal.measure(original, fewer.drop_columns("id"), columns=COLUMNS, unit="id").notes


def test_units_categories_and_dropped_records(tmp_path):
    table = survey(60).append_column("firm", pa.array([j // 2 for j in range(60)]))
    wages = pa.array([None if j == 7 else wage for j, wage in enumerate(table["wages"].to_pylist())])
    table = table.set_column(table.column_names.index("wages"), "wages", wages)
    shoal.write(table, tmp_path / "in.csv")
    plan = shoal.Plan(3, columns=["wages", "sector"], unit="firm", missing="drop", method="vmdav")
    release = shoal.pipeline.run(plan, tmp_path / "in.csv")
    release.write(tmp_path / "out.csv")
    found = shoal.measurement.measure_plan(plan, tmp_path / "in.csv", tmp_path / "out.csv")
    assert 7 not in found.rows
    assert found.risk["linkage"].overall == pytest.approx(release.risk()["linkage"].overall)
