"""The report: complete, escaped, self-contained; the public edition tells nothing that helps an intruder."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.bounds import Bound
from shoal.cli.commands import app
from shoal.comparison import neighbours
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.pipeline import run
from shoal.report import build, render
from shoal.report.audit import sentences
from shoal.report.drawing import number, visible
from shoal.report.figures import group_sizes
from shoal.report.model import _bound, replay

VOID = {"meta", "br", "link", "img", "input", "hr"}

NUMBERS = ("-c", "employees,turnover,wages,assets,energy_use,profit")


class Page(HTMLParser):
    """Every element with its attributes; whether all are closed; the texts of the page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "firms.csv"
    shoal.write(survey(300), path)
    return shoal.microaggregate(path, 5, method="mdav", seed=987654)


@pytest.fixture(scope="module")
def internal(release):
    return build(
        release,
        comparison=neighbours(release),
        formula="turnover ~ employees + wages",
        confidential=["sector"],
        sums=["turnover = wages + profit"],
        bound_time=None,
    )


@pytest.fixture(scope="module")
def public(release):
    return build(release, "public", formula="turnover ~ employees")


@pytest.fixture(scope="module")
def pages(internal, public):
    return {"internal": render(internal), "public": render(public)}


def test_internal_edition_has_every_part(internal, pages, release):
    page = pages["internal"]
    for part in (
        "Why this k",
        "SHA-256, file",
        "987654",
        "Sizes of the groups",
        "Distributions before and after",
        "Change of correlations",
        "Records and their groups",
        "What is at risk",
        "Dominance check",
        "Audit of implausible values",
        "numba",
        "region (other: kept as it is)",
        "k = 10 would lose",
        "turnover ~ employees + wages",
    ):
        assert part in page, part
    assert f"shoal protect {release.source} -k 5 --column=employees" in page
    assert "--seed=987654" in page
    assert internal["outcome"]["information_loss"] == release.information_loss
    assert internal["risk"]["before"]["linkage"]["overall"] == 1.0
    linked = internal["risk"]["after"]["linkage"]
    assert (
        linked["detail"]["without_known"] <= 0.2 < linked["overall"]
    )  # sector is confidential, region known
    assert set(internal["risk"]["before"]) == set(internal["risk"]["after"])
    pictures = [a for tag, a in Page(page).elements if tag == "svg"]
    assert len(pictures) == 6 + len(release.columns)


def test_the_replay_command_makes_the_same_release(internal, release, tmp_path):
    import shlex

    words = shlex.split(internal["provenance"]["replay"])
    outcome = CliRunner().invoke(app, [*words[1:], "-o", str(tmp_path / "again.csv")])
    assert outcome.exit_code == 0, outcome.output
    release.write(tmp_path / "first.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()


def test_the_replay_call_makes_the_same_release():
    X = np.random.default_rng(0).lognormal(size=(40, 2))
    release = shoal.microaggregate(X, 4, columns=[0, 1], method="univariate", per_column=True, seed=3)
    model = build(release, bound_time=None)
    again = eval(model["provenance"]["replay"], {"shoal": shoal, "data": X})
    assert np.array_equal(again.table, release.table)
    assert model["map"] is None
    assert "on 0, 1, each taken alone; nothing else is published" in render(model)


def test_public_edition_tells_nothing_that_helps(public, pages, release):
    for text in (pages["public"], render(public, "json"), render(public, "text")):
        low = text.lower()
        for word in (
            "987654",
            "seed",
            "risk",
            "linked",
            "intruder",
            str(release.source),
            "sha-256",
            "replay",
        ):
            assert word not in low, word
        assert "dominat" not in low
    told = set(public["utility"])
    assert "information_loss" in told
    assert "regression" not in told
    for key, measure in public["utility"].items():
        assert set(measure) <= {"title", "meaning", "unit", "overall", "columns", "detail"}
        if key != "correlations":
            assert "detail" not in measure, key
    # no value of the original stands anywhere: neither extremes nor anything with more than three digits
    numbers = re.findall(r"\d+\.\d+", json.dumps({k: v for k, v in public.items() if k != "outcome"}))
    assert all(len(number.replace(".", "").strip("0")) <= 3 for number in numbers if number != "1.0")


def test_a_headline_is_true_when_read_alone(release, public, pages):
    head = "300 records, each published like at least 4 others on employees, turnover, wages, assets, "
    head += "energy_use, profit; 2 columns are published as they are"
    assert public["outcome"]["headline"] == head
    assert public["outcome"]["kept"] == ["region", "sector"]
    assert render(public, "text").splitlines()[1] == head
    for page in pages.values():
        assert f"<h1>{head}</h1>" in page
        assert "no row describes a single" not in page
    assert "those of single records: region, sector." in pages["public"]
    table = survey(40)
    few = shoal.microaggregate(table, 2, columns=["wages"], method="mdav")
    assert build(few, "public")["outcome"]["headline"] == (
        "40 records, each published like at least 1 other on wages; 7 columns are published as they are"
    )
    blocks = shoal.microaggregate(table, 3, blocks=[["wages", "profit"], ["assets"]], method="mdav")
    told = build(blocks, "public")["outcome"]["headline"]
    assert "on wages, profit, assets, each block taken alone; 5 columns" in told
    alone = shoal.microaggregate(table.select(["wages", "profit"]), 3, columns=["wages"], method="mdav")
    assert build(alone, "public")["outcome"]["headline"].endswith("1 column is published as it is")


def test_the_internal_edition_tells_what_k_does_not(internal, pages, release):
    page, linked = pages["internal"], internal["risk"]["after"]["linkage"]
    assert linked["detail"]["known"] == ["region"]
    assert "He also knows region, published as they are; by all protected columns alone he links" in page
    assert "those of region, which are published as they are, and takes" in internal["why_k"]["reasons"][1]
    unique = internal["risk"]["after"]["unique_rows"]
    assert unique["overall"] > 0
    assert unique["detail"]["on_all_columns"] >= unique["overall"]
    assert f"{unique['detail']['on_all_columns']} of 300 rows are one of a kind" in page
    assert "own values published" in page


def test_public_utility_is_the_internal_one_rounded(internal, public):
    for key, measure in public["utility"].items():
        exact = internal["utility"][key]["overall"]
        assert measure["overall"] == pytest.approx(exact, rel=0.06, abs=6e-4)


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_pages_are_whole_and_self_contained(pages, edition):
    text = pages[edition]
    page = Page(text)
    assert not page.open
    names = [a["id"] for _, a in page.elements if "id" in a]
    assert len(names) == len(set(names))
    for tag, attributes in page.elements:
        assert tag not in ("script", "link", "iframe", "img", "object")
        for key, value in attributes.items():
            assert not key.startswith("on")
            if key.endswith("href") or key == "src":
                assert value.startswith("#"), value
                assert value[1:] in names
            for target in re.findall(r"url\((.*?)\)", value or ""):
                assert target[1:] in names
    for tag, attributes in page.elements:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-labelledby"] in names
    assert "@media print" in text
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)


def test_pages_are_the_same_every_time(pages, public):
    assert render(public) == pages["public"]


HOSTILE = [
    "<script>alert(1)</script>",
    "a $\\frac$ b",
    "=cmd|'/C calc'!A0",
    "\x1b[31mred\x00",
    '"><img src=x>',
    "x" * 300,
]


def test_hostile_names_are_shown_not_run():
    rng = np.random.default_rng(1)
    data = {name: rng.lognormal(size=60) for name in HOSTILE}
    kinds = np.array(["<b>bold</b>", "{{ 7*7 }}"])
    table = pa.table(data | {"<i>kind</i>": kinds[rng.integers(0, 2, 60)]})
    release = shoal.microaggregate(table, 3, method="mdav")
    for edition in ("internal", "public"):
        model = build(release, edition, bound_time=None)
        html = render(model)
        page = Page(html)
        assert not page.open
        assert not {"script", "img", "i"} & {tag for tag, _ in page.elements}
        everything = "".join(page.texts)
        assert "<script>alert(1)</script>" in everything
        assert "a $\\frac$ b" in everything
        assert ("{{ 7*7 }}" in everything) == (edition == "internal")  # subgroups are not named in public
        for text in (html, render(model, "text")):
            assert "\x1b" not in text
            assert "\x00" not in text
        assert json.loads(render(model, "json"))["outcome"]["columns"] == HOSTILE


def test_text_for_the_terminal(internal):
    text = render(internal, "text")
    for part in ("What was done", "Why this k", "What was lost", "What is at risk", "100 % before", "replay"):
        assert part in text


def test_bound_and_gap_are_told(release, monkeypatch):
    least = release.information_loss / 1.05
    known = Bound(1.0, least, "made up", certificate=None, seconds=2.0)
    monkeypatch.setattr("shoal.bounds.bound_matrix", lambda Z, k, V, **options: known)
    model = build(release, comparison=neighbours(release))
    assert model["bound"] == build(release, bound=known, bound_time=None)["bound"]
    assert model["bound"]["gap"] == pytest.approx(0.05)
    assert model["why_k"]["comparison"]["bounds"] == {"5": least}
    page = render(model)
    assert "5 % above that bound: there is little left to gain" in page
    assert "one price for each record, in the order of the rows" in page
    assert "price" not in render(build(release, "public"))
    assert "Proven least loss" in render(model, "text")


def test_audit_by_hand():
    before = pa.table({"a": [-1.0, 3, 0, 4], "b": [1, 2, 3, 4], "t": [0.0, 5, 3, 8], "w": [1.0, 1, 2, 2]})
    after = pa.table({"a": [1.0, 1, 2, 2], "b": [1, 2, 3, 5], "t": [2.0, 3, 5, 7], "w": [1.5, 1.5, 1, 2]})
    from shoal.measures.pair import pair
    from shoal.report.audit import audit

    found = audit(pair(before, after, None), ["t = a + b", "`t` = `a` + b - w + w"])
    assert found["columns"]["a"] == {
        "sign_changes": 1,
        "zeros_lost": 1,
        "outside_range": 0,
        "no_longer_whole": 0,
    }
    assert found["columns"]["b"]["outside_range"] == 1
    assert found["columns"]["w"]["no_longer_whole"] == 2
    first = found["sums"][0]
    assert (first["broken_before"], first["broken_after"]) == (0, 0)
    assert found["sums"][1]["broken_after"] == 0
    worse = audit(pair(before, after, None), ["t = a + w"])["sums"][0]
    assert (worse["broken_before"], worse["broken_after"]) == (3, 4)
    said = sentences(found, 4)
    assert "a: 1 of 4 records are published with the other sign." in said
    assert "t = a + b: holds as before." in said
    for bad, sentence in (("t", "a sum reads"), ("t = q", "no column 'q'"), ("t = ", "a sum reads")):
        with pytest.raises(InputError, match=sentence):
            audit(pair(before, after, None), [bad])


def test_broken_sums_are_told():
    table = pa.table({"a": [1.0, 2, 3, 10], "b": [4.0, 3, 2, 1], "t": [5.0, 5, 5, 11]})
    release = shoal.microaggregate(table, 2, columns=["a"], method="mdav")
    model = build(release, sums=["t = a + b"], bound_time=None)
    assert "does not add up for" in render(model)
    with pytest.raises(InputError, match="holds text"):
        build(
            shoal.microaggregate(survey(20), 2, method="mdav"),
            sums=["turnover = wages + sector"],
            bound_time=None,
        )


def test_dates_gaps_and_categories_are_told():
    from shoal.measures.pair import pair
    from shoal.report.figures import distribution
    from shoal.report.pictures import distributions

    days = pa.array(np.arange(0, 4000, 100), pa.int32()).cast(pa.date32())
    table = pa.table({"day": days, "x": pa.array([None, *range(39)], pa.float64()), "s": ["a", "b"] * 20})
    facts = distributions(pair(table, table, ["day", "x", "s"]))
    assert [entry["moment"] for entry in facts[:2]] == [True, False]
    assert (facts[2]["levels"], facts[2]["before"], facts[2]["after"]) == (["a", "b"], [0.5, 0.5], [0.5, 0.5])
    assert "Share of each level of s before and after: a 50 % and 50 %" in distribution(2, facts[2]).svg()
    assert "from 1970-01-01 to 1980-09-05" in distribution(0, facts[0]).svg()
    assert len(distributions(pair(table, table, ["day", "x", "s"]), most=1)) == 1


def test_many_levels_are_drawn_together_and_ordered_ones_in_their_order():
    from shoal.measures.pair import pair
    from shoal.report.pictures import BINS, distributions

    names = [f"level {i:02}" for i in range(40) for _ in range(40 - i)]
    table = pa.table({"s": names, "g": pa.array(["high", "low", None, "low"] * (len(names) // 4))})
    many, few = distributions(
        pair(table, table, ["s", "g"], types={"g": "ordinal"}, levels={"g": ["low", "high"]})
    )
    assert (len(many["levels"]), many["levels"][0], many["levels"][-1]) == (BINS, "level 00", "17 others")
    assert sum(many["before"]) == pytest.approx(1)
    assert few["levels"] == ["low", "high", "gap"]
    assert few["before"] == few["after"] == [0.5, 0.25, 0.25]
    assert (many["lost"], few["lost"]) == (0, 0)


@pytest.mark.parametrize("kind", ["one column", "constant", "n = k", "k = 1", "many", "large"])
def test_odd_tables(kind):
    rng = np.random.default_rng(0)
    data = {
        "one column": rng.normal(size=(30, 1)),
        "constant": np.ones((12, 2)),
        "n = k": rng.normal(size=(3, 2)),
        "k = 1": rng.normal(size=(6, 2)),
        "many": rng.normal(size=(60, 32)),
        "large": rng.lognormal(5, 4, size=(200, 3)) * 1e250,
    }[kind]
    release = shoal.microaggregate(data, 1 if kind == "k = 1" else 3, method="mdav")
    public = build(release, "public")
    assert json.loads(render(public, "json"))["edition"] == "public"
    model = build(release, bound_time=None)
    json.loads(render(model, "json"))
    assert not Page(render(model)).open
    assert render(model, "text")


def test_pandas_and_polars_tables(tmp_path):
    import pandas as pd
    import polars as pl

    arrow = survey(60)
    reports = []
    for table in (arrow, pd.DataFrame(arrow.to_pydict()), pl.from_arrow(arrow)):
        model = build(shoal.microaggregate(table, 3, method="mdav"), bound_time=None)
        reports.append({key: model[key] for key in ("utility", "risk", "audit", "distributions", "map")})
    assert reports[0] == reports[1] == reports[2]


def test_files_by_their_ending(release, tmp_path):
    for name in ("r.html", "r.json", "r.txt"):
        release.report(tmp_path / name, "public")
        assert (tmp_path / name).stat().st_size > 500
    with pytest.raises(InputError, match=r"ends in \.html"):
        release.report(tmp_path / "r.pdf")
    with pytest.raises(InputError, match="'internal' or 'public'"):
        release.report(tmp_path / "r.html", "secret")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html", "r.json", "r.txt"]


def test_command_line(tmp_path, monkeypatch):
    def refuse(*data, **options):
        raise InputError("no bound")

    monkeypatch.setattr("shoal.bounds.lower_bound", refuse)
    path, report, public = tmp_path / "firms.csv", tmp_path / "in.html", tmp_path / "out.json"
    shoal.write(survey(80), path)
    words = ["protect", path, *NUMBERS, "-k", 4, "-m", "mdav", "--report", report, "--public-report", public]
    words += [
        "--formula",
        "turnover ~ wages",
        "--sum",
        "turnover = wages + profit",
        "--confidential",
        "sector",
    ]
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == 0, outcome.output
    assert f"internal report: {report}" in outcome.stderr
    page = report.read_text()
    assert "k = 8 would lose" in page
    assert "turnover = wages + profit" in page
    assert json.loads(public.read_text())["edition"] == "public"
    words = ["protect", path, *NUMBERS, "-k", 4, "-m", "mdav", "-o", tmp_path / "new.csv", "--report", "-"]
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.stdout.startswith("REPORT ON A PROTECTED TABLE (internal")
    (tmp_path / "new.csv").unlink()
    for bad in ("x.pdf", "nowhere/x.html", "firms.csv"):
        words = ["protect", path, *NUMBERS, "-k", 4, "-o", tmp_path / "new.csv", "--report", tmp_path / bad]
        outcome = CliRunner().invoke(app, [str(word) for word in words])
        assert outcome.exit_code == 2
        assert not (tmp_path / "new.csv").exists()


def test_what_the_replay_repeats(tmp_path):
    path = tmp_path / "a file.csv"
    shoal.write(survey(60), path)
    options = {"columns": ["wages"], "per_column": True, "method": "univariate", "time_limit": 9.0}
    options["parameters"] = {"cost": "range"}
    words = replay(shoal.microaggregate(path, 3, **options))
    assert words.startswith(
        f"shoal protect '{path}' -k 3 --column=wages --method=univariate --set=cost=range"
    )
    assert words.endswith("--per-column --time-limit=9.0")
    words = replay(shoal.microaggregate(survey(60), 3, **options))
    assert "method='univariate', parameters={'cost': 'range'}, time_limit=9.0, per_column=True)" in words


def test_a_release_without_its_original_is_refused(release):
    from dataclasses import replace

    with pytest.raises(InputError, match="does not know its original"):
        build(replace(release, original=None))


def test_plans_that_say_more_are_replayed_from_themselves(tmp_path):
    table = survey(80)
    roles = {"region": "identifier", "assets": "confidential"}
    release = shoal.microaggregate(
        table,
        3,
        columns=["wages", "profit"],
        method="mdav",
        strata=["sector"],
        merge_small_strata=True,
        roles=roles,
    )
    model = build(release, bound_time=None)
    origin = model["provenance"]
    assert origin["roles"]["region"] == "identifier: left out"
    assert origin["roles"]["sector"] == "stratum: kept, groups stay within it"
    assert origin["settings"] == {"strata": ["sector"], "merge_small_strata": True}
    assert list(model["risk"]["after"]["fixed"]["columns"]) == ["assets"]
    assert eval(origin["replay"], {"shoal": shoal, "data": table}).table.equals(release.table)
    (tmp_path / "plan.toml").write_text(origin["toml"])
    again = run(shoal.Plan.read(tmp_path / "plan.toml"), table)
    assert again.table.equals(release.table)
    page = render(model)
    assert "Plan: merge small strata" in page
    assert "where <code>plan.toml</code> is" in page


def test_mixed_columns_are_reported():
    table = survey(80)
    gaps = np.arange(80) % 20 == 0
    wages = pa.array(table["wages"].to_numpy(), mask=gaps)
    table = table.set_column(table.column_names.index("wages"), "wages", wages)
    release = shoal.microaggregate(
        table, 3, columns=["wages", "profit", "sector"], types={"sector": "nominal"}, method="mdav_generic"
    )
    for edition in ("internal", "public"):
        model = build(release, edition, bound_time=None)
        assert "sector" in model["utility"]["changed"]["columns"]
        assert not Page(render(model)).open


def test_many_group_sizes_are_drawn_in_classes():
    picture = group_sizes({str(size): 3 for size in range(5, 200)}, "records").svg()
    assert "Bar chart of group sizes" in picture
    assert "–" in picture


def test_bounds_that_cannot_be_had(release):
    gaps = pa.table({"x": [1.0, None, 3, 4], "y": [1.0, 2, 3, 4]})
    assert _bound(replace(release, original=gaps, columns=("x", "y")), None, 1.0) is None
    assert _bound(replace(release, plan=replace(release.plan, per_column=True)), None, 1.0) is None
    assert _bound(release, None, None) is None


def test_what_the_method_has_proven_is_not_searched_for_again(monkeypatch):
    release = shoal.microaggregate(survey(40), 3, columns=["turnover", "wages"], method="exact")

    def fail(*_):
        raise AssertionError("a bound was at hand")

    monkeypatch.setattr("shoal.release.Release.bound", fail)
    told = build(release)["bound"]
    assert told["information_loss"] == release.outcome.bound > 0
    assert 0 <= told["gap"] < 1e-8  # the method stops at a share of 1e-9
    assert told["method"] == "exact"
    within = replace(release, plan=replace(release.plan, strata=("region",)))
    with pytest.raises(AssertionError):
        _bound(within, None, 1.0)


def test_numbers_and_names_for_axes():
    assert [number(v) for v in (0, 950, 1200, -3.5e6, 2e12, 0.00123)] == [
        "0",
        "950",
        "1.2k",
        "-3.5M",
        "2T",
        "0.00123",
    ]
    assert visible("a\tb\x1b") == "a□b□"
