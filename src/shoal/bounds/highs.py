"""The one place that sets up HiGHS, the solver of linear and integer programs."""

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from shoal.bounds.cuts import Cuts
from shoal.kernels.search.cuts import counts


def quiet_solver(**options: Any) -> highspy.Highs:
    """A solver that prints nothing and uses one thread, so that its outcome is always the same."""
    solver = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        solver.setOptionValue(name, value)
    return solver


def set_partitioning(
    members: NDArray[np.signedinteger],
    cost: NDArray[np.float64],
    records: int,
    *,
    whole: bool = False,
    **options: Any,
) -> highspy.Highs:
    """A solver that holds the program: choose groups that hold each record exactly once, at least cost.

    Rows of `members` are the groups' records, filled up with -1. `whole`: a group is taken or not; otherwise
    shares of groups will do.
    """
    inside = members >= 0
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), records
    lp.col_cost_ = cost
    lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), np.full(len(cost), 1.0 if whole else np.inf)
    lp.row_lower_ = lp.row_upper_ = np.ones(records)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(inside.sum(1))])
    lp.a_matrix_.index_ = members[inside]
    lp.a_matrix_.value_ = np.ones(inside.sum())
    if whole:
        lp.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    solver = quiet_solver(**options)
    solver.passModel(lp)
    return solver


def relaxed(rows, costs, n: int, cuts: Cuts, left_over: float, limits=None, **options) -> highspy.Highs:
    """The linear program over these groups of n records, with cuts; records may be left over at a cost."""
    lp = set_partitioning(rows, costs, n, presolve="off", **options)
    every = np.arange(n, dtype=np.int32)
    lp.addCols(n, np.full(n, left_over), np.zeros(n), np.full(n, np.inf), n, every, every, np.ones(n))
    add_cuts(lp, np.arange(len(rows)), rows, cuts, n, limits)
    return lp


def add_groups(lp: highspy.Highs, rows: NDArray, costs: NDArray[np.float64], cuts: Cuts, n: int) -> None:
    """Add groups to a program that has rows for the first n records, then for these cuts."""
    m = len(rows)
    group, cut, times = counts(rows, cuts.lists(int(max(n, rows.max() + 1)), np.empty(0)))
    inner, place = np.nonzero((rows >= 0) & (rows < n))
    column = np.concatenate([inner, group])
    order = np.argsort(column, kind="stable")
    index = np.concatenate([rows[inner, place], n + cut])[order].astype(np.int32)
    value = np.concatenate([np.ones(len(inner)), times])[order]
    starts = np.searchsorted(column[order], np.arange(m)).astype(np.int32)
    lp.addCols(m, costs, np.zeros(m), np.full(m, np.inf), len(index), starts, index, value)


def add_cuts(
    lp: highspy.Highs, columns: NDArray, rows: NDArray, cuts: Cuts, n: int, limits: NDArray | None = None
) -> None:
    """Add cuts to a program, with these limits or their own; its column columns[g] is the group rows[g]."""
    m = len(cuts)
    group, cut, times = counts(rows, cuts.lists(n, np.empty(0)))
    order = np.argsort(cut, kind="stable")
    starts = np.searchsorted(cut[order], np.arange(m)).astype(np.int32)
    index = np.asarray(columns)[group[order]].astype(np.int32)
    most = (cuts.limits if limits is None else limits).astype(float)
    lp.addRows(m, np.full(m, -np.inf), most, len(index), starts, index, times[order].astype(float))


def solved(lp: highspy.Highs, seconds: float) -> bool:
    """Solve a linear program in so many seconds; False if that was not reached.

    Sometimes the solver loses its way from the last solution ("unknown"): then it begins anew.
    """
    for _ in range(2):
        lp.setOptionValue("time_limit", lp.getRunTime() + max(0.1, seconds))
        lp.run()
        status = lp.getModelStatus()
        if status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit):
            return bool(status == highspy.HighsModelStatus.kOptimal)
        lp.clearSolver()
    return False


def basic(lp: highspy.Highs) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which columns, and which rows, are basic in the solution."""
    _, variables = lp.getBasicVariables()  # type: ignore[attr-defined]  # missing in its stubs
    columns, rows = np.zeros(lp.getNumCol(), bool), np.zeros(lp.getNumRow(), bool)
    columns[variables[variables >= 0]] = True
    rows[-1 - variables[variables < 0]] = True
    return columns, rows


def begin_at(lp: highspy.Highs, columns: NDArray[np.bool_], rows: NDArray[np.bool_]) -> None:
    """Begin with these basic, those of a like program: few steps lead from it. HiGHS mends what is missing.

    Other columns are at their lower ends, other rows at their upper ends.
    """
    at = highspy.HighsBasisStatus
    start = highspy.HighsBasis()
    start.col_status = np.array([at.kLower, at.kBasic], object)[columns.astype(int)].tolist()
    start.row_status = np.array([at.kUpper, at.kBasic], object)[rows.astype(int)].tolist()
    lp.setBasis(start)
