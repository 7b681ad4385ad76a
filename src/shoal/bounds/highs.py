"""The one place that sets up HiGHS, the solver of linear and integer programs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.bounds.cuts import Cuts
from shoal.kernels.search.cuts import counts


def quiet_solver(**options: Any) -> highspy.Highs:
    """A solver that prints nothing and uses one thread, so that its outcome is always the same."""
    solver = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        solver.setOptionValue(name, value)
    return solver


def set_partitioning(
    members: NDArray[np.signedinteger], cost: Floats, records: int, *, whole: bool = False, **options: Any
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


class Solution(NamedTuple):
    """What a linear program over groups comes to."""

    value: float
    prices: Floats  # of the records
    penalties: Floats  # of the cuts
    shares: Floats  # of the groups
    spare: Floats  # of the columns before the groups


class Relaxation:
    """The linear program: shares of groups that hold each of n records once, at least cost, under cuts.

    Its rows are the records, then the cuts. Its columns are ways to cover each record without a group or,
    with the sign -1, to give it back, at the cost `spare`; then the groups, which may have other records too.
    """

    def __init__(
        self,
        n: int,
        rows: NDArray[np.signedinteger],
        costs: Floats,
        cuts: Cuts,
        spare: float,
        signs: Sequence[float] = (1.0,),
        limits: Ints | None = None,
        **options: Any,
    ):
        self.n, self.spare = n, n * len(signs)
        self.solver = quiet_solver(presolve="off", **options)
        every, none = np.arange(n, dtype=np.int32), np.empty(0, np.int32)
        self.solver.addRows(n, np.ones(n), np.ones(n), 0, np.zeros(n, np.int32), none, np.empty(0))
        for sign in signs:
            free = np.zeros(n), np.full(n, np.inf)
            self.solver.addCols(n, np.full(n, spare), *free, n, every, every, np.full(n, sign))
        self.rows, self.cuts = rows[:0], Cuts.none()
        self.add(rows, costs)
        self.add_cuts(cuts, limits)

    def add(self, rows: NDArray[np.signedinteger], costs: Floats) -> None:
        """Add groups: rows of records, filled up with -1."""
        m, n = len(rows), self.n
        group, cut, times = self._counts(rows, self.cuts)
        inner, place = np.nonzero((rows >= 0) & (rows < n))
        column = np.concatenate([inner, group])
        order = np.argsort(column, kind="stable")
        index = np.concatenate([rows[inner, place], n + cut])[order].astype(np.int32)
        value = np.concatenate([np.ones(len(inner)), times])[order]
        starts = np.searchsorted(column[order], np.arange(m)).astype(np.int32)
        self.solver.addCols(m, costs, np.zeros(m), np.full(m, np.inf), len(index), starts, index, value)
        self.rows = np.concatenate([self.rows, rows])

    def add_cuts(self, cuts: Cuts, limits: Ints | None = None) -> None:
        """Add cuts, with these limits or their own."""
        m = len(cuts)
        group, cut, times = self._counts(self.rows, cuts)
        order = np.argsort(cut, kind="stable")
        starts = np.searchsorted(cut[order], np.arange(m)).astype(np.int32)
        index = self.spare + group[order].astype(np.int32)
        most = (cuts.limits if limits is None else limits).astype(float)
        value = times[order].astype(float)
        self.solver.addRows(m, np.full(m, -np.inf), most, len(index), starts, index, value)
        self.cuts += cuts

    def bound(self, groups: Ints, least: float, most: float) -> None:
        """Let between so much and so much be taken of these groups, by their places in `rows`."""
        m, columns = len(groups), (self.spare + groups).astype(np.int32)
        self.solver.changeColsBounds(m, columns, np.full(m, least), np.full(m, most))

    def _counts(self, rows: NDArray[np.signedinteger], cuts: Cuts) -> tuple[Ints, Ints, Ints]:
        return counts(rows, cuts.lists(int(rows.max(initial=self.n - 1)) + 1, np.empty(0)))

    def solve(self, seconds: float) -> Solution | None:
        """The solution, if it takes no longer than that.

        Sometimes the solver loses its way from the last solution ("unknown"): then it begins anew.
        """
        for _ in range(2):
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + max(0.1, seconds))
            self.solver.run()
            status = self.solver.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                found, value = self.solver.getSolution(), self.solver.getInfo().objective_function_value
                shares, duals = np.array(found.col_value), np.array(found.row_dual)
                penalties = np.maximum(0.0, -duals[self.n :])
                return Solution(value, duals[: self.n], penalties, shares[self.spare :], shares[: self.spare])
            if status == highspy.HighsModelStatus.kTimeLimit:
                return None
            self.solver.clearSolver()
        return None

    def basic(self) -> tuple[Bools, Bools]:
        """Which columns, and which rows, are basic in the solution."""
        _, variables = self.solver.getBasicVariables()  # type: ignore[attr-defined]  # missing in its stubs
        columns, rows = np.zeros(self.solver.getNumCol(), bool), np.zeros(self.solver.getNumRow(), bool)
        columns[variables[variables >= 0]] = True
        rows[-1 - variables[variables < 0]] = True
        return columns, rows

    def begin_at(self, columns: Bools, rows: Bools) -> None:
        """Begin with these basic, those of a like program: few steps lead from it. HiGHS mends what lacks.

        Other columns are at their lower ends, other rows at their upper ends.
        """
        at = highspy.HighsBasisStatus
        start = highspy.HighsBasis()
        start.col_status = np.array([at.kLower, at.kBasic], object)[columns.astype(int)].tolist()
        start.row_status = np.array([at.kUpper, at.kBasic], object)[rows.astype(int)].tolist()
        self.solver.setBasis(start)
