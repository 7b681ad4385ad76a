"""Which k keeps the risk low enough, and why."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from shoal.comparison import Comparison, Failure, Progress, Run, by_loss, compare_plans, some_of
from shoal.errors import InputError
from shoal.grouping.runner import share
from shoal.plan import Plan, PlanFields, explicit
from shoal.plan.rules import alternatives, required_by

Compare = Callable[[Sequence[int], Progress | None], Comparison]
#: For k, if none are named. Steps grow with k, for the risk falls about like 1/k.
CANDIDATES = (2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
#: Records up to which all of them are tried. Above it each takes seconds; the risk falls as k grows, so that
#: three or four tell which is the least that keeps to it.
FEW = 2000


@dataclass(frozen=True)
class Suggestion:
    """What `suggest` gives back.

    Attributes
    ----------
    k : int or None
        The group size; None where no run keeps the risk low enough.
    method : str or None
        The method that it was found with.
    requirements : str
        What each group holds beyond k, as it is typed; empty for nothing.
    max_risk : float
        The wish.
    reason : str
        Why this k, in words.
    comparison : Comparison
        All that was tried.

    Examples
    --------
    >>> import shoal
    >>> shoal.suggest(shoal.datasets.survey(60), max_risk=0.2, k=[3, 5, 10], methods="mdav", known=())
    Suggestion(k=5, method='mdav', at most 20 % linked)
    """

    k: int | None
    method: str | None
    max_risk: float
    reason: str
    comparison: Comparison
    requirements: str = ""

    def __repr__(self) -> str:
        return f"Suggestion(k={self.k}, method={self.method!r}, at most {100 * self.max_risk:.3g} % linked)"

    def facts(self) -> dict[str, Any]:
        """As plain values, fit for JSON."""
        names = ("k", "method", "requirements", "max_risk", "reason")
        return {**{name: getattr(self, name) for name in names}, "comparison": self.comparison.facts()}


@explicit(Plan)
def suggest(
    data: Any,
    max_risk: float = 0.05,
    k: Sequence[int] | None = None,
    methods: Sequence[str] | str | None = None,
    *,
    bound_time: float | None = None,
    sample: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    **fields: Unpack[PlanFields],
) -> Suggestion:
    """Suggest k: the run of least loss whose share of correctly linked records is at most `max_risk`.

    Parameters
    ----------
    data
        A table, a path, or the URL of a table in a database; a large one as for `compare`.
    max_risk : float
        The share of records that an intruder may link correctly. Where it is estimated from a sample, the
        upper end of its confidence interval counts.
    k : list of int, optional
        The group sizes to try; without it some from 2 to 50, of a table with more than 2,000 records those
        that decide: the risk falls as k grows. A list of rules for a column of `diversity`,
        `closeness`, `dominance` or `spread` is tried likewise.
    methods : list of str, optional
        The methods to try; without it the plan's `method`.
    bound_time, sample, workers, progress
        As for `compare`; without `bound_time` nothing is proven.
    **fields
        The fields of `Plan`, the same for all runs.

    Returns
    -------
    Suggestion

    Examples
    --------
    >>> import shoal
    >>> suggested = shoal.suggest(shoal.datasets.survey(60), 0.2, k=[3, 5, 10], methods="mdav", known=())
    >>> suggested.reason.startswith(f"k={suggested.k} (mdav)")
    True
    """
    keys = [methods] if isinstance(methods, str) else methods
    plans = [Plan(CANDIDATES[0], **chosen) for chosen in alternatives(fields)]
    told: dict[str, Any] = {"bound_time": bound_time, "sample": sample, "workers": workers}
    return suggest_plans(plans, data, max_risk, k, keys, progress, **told)


def suggest_plans(
    plans: Sequence[Plan],
    data: Any,
    max_risk: float,
    sizes: Sequence[int] | None,
    keys: Sequence[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Suggestion:
    """The plan and k that are best of these; `options` are those of `compare_plans`, without a bound."""
    if not 0 < max_risk <= 1:
        raise InputError(f"max_risk is a share between 0 and 1, not {max_risk!r}")
    (frame, notes), options = some_of(data, plans[0]), {"bound_time": None, **options}
    several = sizes is not None or len(plans) > 1 or len(keys or "1") > 1
    if sizes is None:
        sizes = [size for size in CANDIDATES if size <= len(frame)]
        if not sizes:
            raise InputError(f"the table has {len(frame)} records: too few to hide one among others")

    def compare(some: Sequence[int], told: Progress | None) -> Comparison:
        return compare_plans(plans, frame.native, some, keys, progress=told, **options)

    if several or len(frame) <= FEW:
        comparison = compare(sizes, progress)
    else:
        plan = replace(plans[0], method=(keys or [plans[0].method])[0])
        comparison = _halving(compare, plan, sizes, max_risk, progress)
    comparison, tried = replace(comparison, notes=notes), comparison.runs
    safe = [run for run in tried if run.risk_high <= max_risk]
    wish = f"at most {100 * max_risk:.3g} %"
    if not safe:
        least = min(tried, key=lambda r: r.risk_high)
        reason = (
            f"no k tried keeps the share of correctly linked records to {wish}: the lowest was "
            f"{_share(least)} at {_named(least)}. Try larger k, protect or drop more "
            "columns, or allow more"
        )
        return Suggestion(None, None, max_risk, reason, comparison)
    best = min(safe, key=lambda r: (r.information_loss, r.k))
    reason = (
        f"{_named(best)}: of all {len(tried)} runs that were tried it loses least "
        f"({best.information_loss:.3g} %) among those where an intruder who knows all the columns' true "
        f"values links {wish} of the records correctly ({_share(best)})"
    )
    riskier = [r for r in tried if r.risk_high > max_risk and r.information_loss < best.information_loss]
    if riskier:
        nearest = max(riskier, key=lambda r: r.information_loss)
        reason += (
            f". The next with less loss, {_named(nearest)}, loses "
            f"{nearest.information_loss:.3g} % but lets {_share(nearest)} be linked"
        )
    return Suggestion(best.k, best.method, max_risk, reason, comparison, best.requirements)


def _halving(
    compare: Compare, plan: Plan, sizes: Sequence[int], max_risk: float, progress: Progress | None
) -> Comparison:
    """Try only sizes that decide: where one keeps the risk low enough, or fails, smaller ones follow."""
    tried: list[Comparison] = []
    failures: list[Failure] = []
    low, high, steps = 0, len(sizes), len(sizes).bit_length()
    while low < high:
        middle, done = (low + high) // 2, len(tried) + len(failures)
        try:
            tried.append(compare([sizes[middle]], share(progress, done / steps, 1 / steps)))
            safe = tried[-1].runs[0].risk_high <= max_risk
        except InputError as error:  # a stratum is too small for it, say
            failures.append(Failure(plan.method, sizes[middle], str(error), required_by(plan)))
            safe = True
        low, high = (low, middle) if safe else (middle + 1, high)
    if not tried:
        raise InputError(failures[-1].error)
    runs = by_loss(run for one in tried for run in one.runs)
    return replace(tried[0], runs=tuple(runs), failures=tuple(failures))


def _named(entry: Run) -> str:
    return f"k={entry.k} ({entry.method}{'; ' if entry.requirements else ''}{entry.requirements})"


def _share(entry: Run) -> str:
    text = f"{100 * entry.risk:.3g} %"
    if entry.risk_high > entry.risk:
        text += f", at most {100 * entry.risk_high:.3g} % with 95 % confidence"
    return text
