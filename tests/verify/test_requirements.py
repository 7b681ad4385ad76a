"""Requirements counted on a file by the verifier's own code: passed, failed, or not checkable."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.check import check_original
from shoal.errors import CheckFailed, InputError
from shoal.frame.column import Column
from shoal.plan import Plan
from shoal.plan.rules import read_rule
from shoal.verify import policy
from shoal.verify.compare import Agreement
from shoal.verify.count import Finding
from shoal.verify.groups import check_groups
from shoal.verify.requirements import Held, groups_of, held


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    n = 60
    return pa.table(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n).round(3),
            "sales": np.exp(rng.normal(size=n)).round(2),
            "disease": rng.choice(["flu", "cold", "ulcer"], n),
            "income": rng.integers(10, 99, n),
            "w": rng.choice([1.0, 2.0, 3.5], n),
            "firm": [f"f{i // 2}" for i in range(n)],
            "region": rng.choice(["n", "s"], n),
        }
    )


ALL = {
    "diversity": {"disease": 2},
    "closeness": {"income": 0.35, "disease": "beta:2"},
    "dominance": {"sales": "1:90"},
    "spread": {"income": 0.5},
}
MORE = {"columns": ["a", "b", "sales"], "method": "mdav", "keep": ["region", "firm"], **ALL}


def test_a_release_holds_what_was_asked_and_says_so(table, tmp_path):
    release = shoal.microaggregate(table, 3, weight="w", strata="region", **MORE)
    for said in ("2 different values of 'disease'", "within 0.35", "90 %", "span at least 0.5"):
        assert said in release.promise
    release.write(tmp_path / "r.csv")
    alone = shoal.check(
        tmp_path / "r.csv", 3, plan=release.plan, columns=["a", "b", "sales"], strata=["region"]
    )
    said = [str(finding) for finding in alone]
    assert [finding.passed for finding in alone] == [True, True, True, True, False, True]
    assert "not checkable from the file: 'sales' is not in it as it was" in said[4]
    both = check_original(tmp_path / "r.csv", table, ["a", "b", "sales"], plan=release.plan)
    assert both.passed
    assert len(both.held) == 5
    assert "each group with at least 2 different values of 'disease'" in str(both)


def test_units_of_a_sum_are_counted_with_the_original(table, tmp_path):
    asked = {**MORE, "dominance": {"sales": "1:90", "income": "p:5"}, "keep": ["region"], "unit": "firm"}
    release = shoal.microaggregate(table, 3, **asked)
    release.write(tmp_path / "r.parquet")
    agreement = check_original(tmp_path / "r.parquet", table, ["a", "b", "sales"], plan=release.plan)
    assert agreement.passed
    assert agreement.units >= 3
    told = [str(f) for f in shoal.check(tmp_path / "r.parquet", 3, ["a", "b", "sales"], plan=release.plan)]
    assert any("'firm' is not in it as it was" in said for said in told)
    same = shoal.check(
        table, 1, ["a"], unit="firm", plan=Plan(1, columns=["a"], unit="firm", spread={"income": 0.01})
    )
    assert [finding.passed for finding in same] == [True, False]  # one record has no width


def test_what_fails_is_counted_and_the_first_are_named(table):
    release = shoal.microaggregate(table, 3, columns=["a", "b"], method="mdav", keep=table.column_names[2:])
    plan = Plan(3, columns=["a", "b"], diversity={"disease": 3})
    finding = shoal.check(release.table, 3, ["a", "b"], plan=plan)[1]
    labels, disease = release.labels, np.array(table["disease"])
    bad = [g for g in range(labels.max() + 1) if len(set(disease[labels == g])) < 3]
    assert (finding.failing_groups, finding.groups) == (len(bad), labels.max() + 1)
    assert finding.failing_records == np.isin(labels, bad).sum()
    assert len(finding.first) == 3
    assert "do not have at least 3 different values of 'disease', such as a=" in str(finding)
    agreement = check_original(release.table, table, ["a", "b"], plan=plan)
    assert "groups" in str(agreement)
    assert not agreement.passed


def test_blocks_hold_rules_on_their_own_columns(table):
    release = shoal.microaggregate(
        table,
        3,
        blocks=[["a", "b"], ["sales"]],
        method="mdav",
        keep=["firm"],
        spread={"sales": 0.01, "income": 0.1},
    )
    ids = [groups_of([pa.array(part)]) for part in release.labels.T]
    sales = held(
        read_rule("spread", "sales", 0.01), Column("sales", "continuous", np.array(table["sales"])), ids[1]
    )
    assert sales.passed
    assert "group" in str(
        held(read_rule("spread", "sales", 9), Column("s", "continuous", np.ones(60)), ids[1])
    )
    release.require(release.table)


def test_a_wrong_group_is_not_released(table):
    column, rule = Column("x", "continuous", np.array([1.0, 1, 2, 3])), read_rule("diversity", "x", 2)
    released = {"a": Column("a", "continuous", np.array([5.0, 5, 6, 6]))}
    labels = np.array([0, 0, 1, 1])
    check_groups(released, labels, 2, watched=[(read_rule("diversity", "x", 1), column)])
    with pytest.raises(CheckFailed, match="nothing is released: no: 1 of 2 groups"):
        check_groups(released, labels, 2, watched=[(rule, column)])
    counted = [Finding(2, ("a",), 4, 2, 2, 0)]
    agreement = Agreement(4, (), ())
    policy.require(2, [["a"]], counted, agreement, held=[Held("it", 4, 2)])
    with pytest.raises(CheckFailed, match="the check says no"):
        policy.require(2, [["a"]], counted, agreement, held=[Held("it", 4, 2, 1, 2)])


def test_other_options_than_those_of_the_release_find_no_rows_but_count_kept_columns(table, tmp_path):
    shoal.microaggregate(table, 3, **MORE).write(tmp_path / "r.csv")
    other = Plan(
        3, columns=["a", "b", "sales"], seed=9, diversity={"disease": 2}, dominance={"sales": "1:90"}
    )
    agreement = check_original(tmp_path / "r.csv", table, ["a", "b", "sales"], plan=other)
    assert [fault for fault in agreement.faults if "disease" in fault] == []
    assert any("not checkable from the file" in fault for fault in agreement.faults)
    assert check_original(tmp_path / "r.csv", table, ["a", "b", "sales"]).passed


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"diversity": {"disease": 4}}, "the nearest that can be had is diversity 3"),
        ({"closeness": {"disease": 0.0001}}, "only one group of all 60 records has 'disease'"),
        (
            {"closeness": {"disease": "beta:0.0001"}},
            "has 0.0001-likeness .*: ask for closeness beta:.* or more",
        ),
        ({"closeness": {"disease": "delta:0.0001"}}, "ask for closeness delta:.* or more"),
        ({"dominance": {"sales": "1:1"}}, "the nearest that can be had is dominance 1:"),
        ({"dominance": {"disease": "1:80"}}, "dominance needs numbers, but column 'disease' is nominal"),
        ({"diversity": {"a": 2}}, "column 'a' cannot be both confidential and quasi"),
        ({"diversity": {"diseas": 2}}, "did you mean 'disease'"),
        ({"spread": {"w": 99}}, "the nearest that can be had is spread"),
    ],
)
def test_what_cannot_be_held_is_refused_before_the_work(table, asked, message):
    with pytest.raises(InputError, match=message):
        shoal.microaggregate(table, 3, columns=["a", "sales"], **asked)


def test_a_stratum_that_cannot_hold_is_named(table):
    table = table.set_column(
        3, "disease", pa.array(np.where(np.array(table["region"]) == "n", "flu", "cold"))
    )
    with pytest.raises(
        InputError, match=r"a stratum of .* cannot have at least 2 different values of 'disease'"
    ):
        shoal.microaggregate(table, 3, columns=["a"], strata="region", diversity={"disease": 2})


def test_gaps_are_values_and_negatives_count_without_sign(table):
    cells = [None if i % 7 == 0 else x for i, x in enumerate(table["disease"].to_pylist())]
    table = table.set_column(3, "disease", pa.array(cells))
    table = table.set_column(
        2, "sales", pa.array(np.array(table["sales"]) * np.where(np.arange(60) % 2, 1, -1))
    )
    asked = {"diversity": {"disease": 2}, "dominance": {"sales": "1:80"}, "closeness": {"disease": 0.6}}
    release = shoal.microaggregate(table, 3, columns=["a", "sales"], method="mdav", **asked)
    assert "diversity counts the 9 gaps of column 'disease' as one value" in release.notes
    assert "dominance counts negative values of column 'sales' without their sign" in release.notes
    for g in range(release.labels.max() + 1):
        rows = release.labels == g
        assert len({cells[i] for i in np.flatnonzero(rows)}) >= 2
        size = np.abs(np.array(table["sales"])[rows])
        assert size.max() <= 0.8 * size.sum() * (1 + 1e-9)


def test_dates_have_a_spread_and_no_sum():
    import datetime

    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i % 5) for i in range(20)]
    table = pa.table({"a": np.arange(20.0), "day": days})
    release = shoal.microaggregate(table, 4, columns=["a"], spread={"day": 0.5})
    assert release.outcome.smallest_group >= 4
    with pytest.raises(InputError, match="spread needs numbers, but column 'day' is date"):
        shoal.microaggregate(table, 4, columns=["a"], spread={"day": "rel:0.5"})


def test_the_outcome_tells_what_each_requirement_reached(table, tmp_path):
    asked = {"diversity": {"disease": 2}, "dominance": {"sales": "1:80"}, "per_column": True}
    release = shoal.microaggregate(table, 3, columns=["a", "sales"], method="mdav", **asked)
    labels, diseases = release.labels, np.array(table["disease"])
    groups = [(column, g) for column in labels.T for g in range(column.max() + 1)]
    fewest = min(len(set(diseases[column == g])) for column, g in groups)
    sales, own = np.abs(np.array(table["sales"])), labels[:, 1]
    most = max(sales[own == g].max() / sales[own == g].sum() for g in range(own.max() + 1))
    diversity, dominance = release.outcome.requirements
    assert (diversity["asked"], diversity["reached"]) == (2, fewest)
    assert (diversity["groups"], diversity["failing_groups"]) == (len(groups), 0)
    assert dominance["asked"] == 80
    assert dominance["reached"] == pytest.approx(100 * most)
    said = f"at least 2 different values of 'disease': asked 2, reached {fewest}, 0 of {len(groups)} groups"
    assert ("each group has", f"{said} fail") in release.outcome.rows()
    assert "requirements" not in release.outcome.public()
    release.report(tmp_path / "report.html", bound_time=None)
    assert "asked 80, reached" in (tmp_path / "report.html").read_text()


def test_units_are_told_and_a_sum_of_zeros_has_no_limit(table):
    table = table.append_column("person", pa.array(np.arange(60) // 2))
    table = table.append_column("debt", pa.array(np.zeros(60)))
    asked = {"unit": "person", "dominance": {"debt": "p:10"}}
    release = shoal.microaggregate(table, 3, columns=["a"], method="mdav", **asked)
    units, dominance = release.outcome.requirements
    assert units["requirement"] == "records of at least 3 different units"
    assert units["reached"] == release.outcome.smallest_group >= 3
    assert dominance["reached"] is None
    assert ", reached no limit, 0 of" in dict(release.outcome.rows())["each group has"]
