"""Outcome: what became of a plan, in plain values. Every engine gives the same one."""

import logging
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import shoal
from shoal.arrays import Ints
from shoal.display import card
from shoal.grouping.registry import get_method
from shoal.plan import Plan
from shoal.plan.steps import said
from shoal.stages.loss import Loss
from shoal.stages.part import COUNTS
from shoal.verify.requirements import Held

#: What becomes of the order of rows, in words.
ORDERS = {
    "shuffle": "shuffled, so that a row's place tells nothing; `shoal check --original` with the same plan "
    "finds each again, order='keep' (--order keep) keeps them",
    "keep": "in the original's order",
}
#: What a plan of 0.1 does not say and this version does otherwise, in words.
SINCE_0_1 = (
    "; since then rows of files are shuffled, a cell comes from two contributors or more, merged strata "
    "publish what they were merged into, and kept columns may be asked about (docs/migration.md)"
)
#: A rounding loss below this share of all squares is the noise of the last digit: nothing was rounded.
NOISE = 1e-20
#: A loss within this share of the bound is the least: what "proven" means (docs/optimality.md).
SAME = 2e-9


@dataclass(frozen=True)
class Outcome:
    """What became of a plan.

    Attributes
    ----------
    records : int
        How many records were published.
    columns, kept, recoded : tuple of str
        The protected columns, those that are published as they are, and those that are recoded only.
    recoding_loss : dict
        What each column loses that is recoded and not protected: 100 * SSE / SST of that column, in percent.
    steps : tuple of str
        What was done beside grouping, one sentence each: tails, joined levels, rounding, new numbers.
    groups, smallest_group, largest_group : int
        How many groups there are, and how many records (or units) the smallest and the largest has.
    counted : str
        Whom k counts: "records" or "units".
    information_loss : float
        100 * SSE / SST of the groups with their exact means, in percent.
    rounding_loss : float
        What publishing whole numbers (medians, modes, recoded and rounded values) adds to it, in the same
        percent.
    method : str
        The method that was asked for.
    used : tuple of str
        The methods that grouped: what `auto` chose.
    k, seed, per_column
        As the plan has them.
    promise : str
        What is guaranteed of the published file, in plain words.
    seconds : float
        How long it took.
    notes : tuple of str
        What a careful colleague would point out.
    unique_on_categories, unique_rows : int or None
        How many published rows no other row equals in the protected columns and the kept ones with few
        values, and in all columns; None if not counted.
    order : str
        Of rows in written files: "shuffle" or "keep".
    engine : str
        Where it was made: "memory", "disk" or "spark".
    blocks : int
        How many blocks the table was divided into; 1 in memory.
    plan_sha256 : str or None
        The fingerprint of the block plan, where there was one.
    bound : float or None
        What any grouping of these records loses at least, in percent, where the method proved it ("exact").
    proven : bool
        Whether no other grouping, published as means, loses less: the bound is reached.
    requirements : tuple of dict
        What groups hold beyond k records, counted before they were published: the `requirement`, what was
        `asked`, what the group nearest to failing `reached` (None: no limit), `groups`, `failing_groups`, and
        all of it `said` in words.

    Examples
    --------
    >>> import shoal
    >>> release = shoal.microaggregate(shoal.datasets.survey(60), k=5, columns=["turnover", "wages"])
    >>> release.outcome.smallest_group >= 5
    True
    >>> release.outcome.summary()["k"]
    5
    """

    records: int
    columns: tuple[str, ...]
    groups: int
    smallest_group: int
    largest_group: int
    information_loss: float
    rounding_loss: float
    method: str
    used: tuple[str, ...]
    k: int
    seed: int
    per_column: bool
    promise: str
    seconds: float
    notes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    counted: str = "records"
    unique_on_categories: int | None = None
    unique_rows: int | None = None
    order: str = "shuffle"
    engine: str = "memory"
    blocks: int = 1
    plan_sha256: str | None = None
    recoded: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    recoding_loss: Mapping[str, float] = field(default_factory=dict)
    bound: float | None = None
    proven: bool = False
    requirements: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        plan: Plan,
        columns: Sequence[Any],
        sizes: Ints,
        loss: Loss,
        used: Sequence[str],
        notes: Sequence[str],
        began: float,
        kept: Sequence[Any] = (),
        least: float | None = None,
        held: Iterable[Held] = (),
        **facts: Any,
    ) -> "Outcome":
        """From the sizes of all groups and what they lose; `began` is the start by `time.perf_counter`.

        `least`: the sum of squares that any grouping loses, where that is proven. `held`: what the groups of
        each part or block hold beyond k records.
        """
        together: dict[str, Held] = {}
        for one in held:
            before = together.get(one.requirement)
            together[one.requirement] = one if before is None else before + one
        rounding = loss.percent(loss.rounding) if loss.rounding > NOISE * loss.total else 0.0
        bound = None if least is None else loss.percent(least)
        means = all(plan.centroid_of(name) in (None, "mean") for name in columns)
        plain = means and not (plan.unit or plan.rules or rounding)
        proven = plain and least is not None and least >= loss.within * (1 - SAME)
        notes = [*_least_words(plan, loss, bound, proven), *notes]
        made = cls(
            columns=tuple(map(str, columns)),
            groups=len(sizes),
            smallest_group=int(sizes.min()),
            largest_group=int(sizes.max()),
            information_loss=loss.percent(loss.within),
            rounding_loss=rounding,
            method=plan.method,
            used=tuple(used),
            k=plan.k,
            seed=plan.seed,
            per_column=plan.per_column,
            promise=promise(plan, columns, kept),
            kept=tuple(str(name) for name in kept if name not in plan.stepped),
            recoded=tuple(str(name) for name in kept if name in plan.stepped),
            steps=tuple(said(plan)),
            counted="units" if plan.unit else "records",
            order=plan.order,
            seconds=time.perf_counter() - began,
            notes=tuple(notes),
            bound=bound,
            proven=proven,
            requirements=tuple(one.facts() for one in together.values()),
            **facts,
        )
        logging.getLogger("shoal").info("%r, method %s, %.2f s", made, ", ".join(made.used), made.seconds)
        return made

    def summary(self) -> dict[str, Any]:
        """The outcome as plain values, as `--json` prints it."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def public(self) -> dict[str, Any]:
        """What readers of a release may know: nothing that stems from single records, and no seed."""
        names = (
            *("records", "columns", "kept", "recoded", "steps", "groups", "k", "counted", "method"),
            *("per_column", "promise", "engine"),
        )
        facts = {name: value for name, value in self.summary().items() if name in names}
        return {
            "shoal": shoal.__version__,
            **facts,
            "information_loss": float(f"{self.information_loss:.3g}"),
            "recoding_loss": {name: float(f"{lost:.3g}") for name, lost in self.recoding_loss.items()},
        }

    def noting(self, note: str) -> "Outcome":
        """The outcome with one more note."""
        return replace(self, notes=(*self.notes, note))

    def rows(self) -> list[tuple[str, str]]:
        """The outcome in plain words, as the command line and notebooks show it."""
        used = ", ".join(self.used)
        method = self.method if self.method == used else f"{self.method}: {used}"
        rows = [
            ("records", f"{self.records:,}"),
            ("columns protected", ", ".join(self.columns)),
            ("groups", f"{self.groups:,} of {self.smallest_group} to {self.largest_group} {self.counted}"),
            ("information lost", percent(self.information_loss)),
        ]
        if self.rounding_loss:
            rows.append(("lost by rounding", "another " + percent(self.rounding_loss)))
        if self.recoding_loss:
            each = ", ".join(f"{name} {percent(lost)}" for name, lost in self.recoding_loss.items())
            rows.append(("lost by recoding", each))
        if self.unique_rows is not None:
            few, many = self.unique_on_categories, f"{self.unique_rows:,} on all published columns"
            rows.append(("rows of their own", f"{many}, {few:,} on those with few values" if few else many))
        return [
            *rows,
            *(("each group has", one["said"]) for one in self.requirements),
            *(("recoded", step) for step in self.steps),
            ("rows in files", ORDERS[self.order]),
            ("method", f"{method} (k={self.k}, seed {self.seed})"),
            ("time", f"{self.seconds:.2f} s"),
            ("promise", self.promise),
        ]

    def __repr__(self) -> str:
        return (
            f"Outcome({self.records:,} records, {self.groups:,} groups of {self.smallest_group} to "
            f"{self.largest_group}, {percent(self.information_loss)} lost)"
        )

    def _repr_html_(self) -> str:
        return card(repr(self), [*self.rows(), *(("note", note) for note in self.notes)])

    def __getitem__(self, name: str) -> Any:
        """As the dict that it replaces; deprecated."""
        warnings.warn(
            f"outcome[{name!r}] works until shoal 0.3: write outcome.{name}, or outcome.summary()[{name!r}]",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.summary()[name]


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def percent(value: float) -> str:
    """Four digits that mean something, however small."""
    return f"{value:.4g} %"


def promise(plan: Plan, columns: Sequence[Any], kept: Sequence[Any] = ()) -> str:
    """In plain words, what k means for a release of these columns beside the `kept`: true when read alone."""
    whom = f"at least {plan.k} records"
    if plan.unit:
        whom = f"records of at least {plan.k} different units ({', '.join(map(str, plan.unit))})"
    whom += ", within its stratum" if plan.strata else ""
    whom += f", which have {' and '.join(map(str, plan.rules))}" if plan.rules else ""
    same = [name for name in kept if name not in plan.stepped]
    rest = "no other column is published"
    if same:
        more = f" and {len(same) - 6} more" if len(same) > 6 else ""
        columns_are = "1 column is" if len(same) == 1 else f"{len(same)} columns are"
        rest = f"{columns_are} published as before: {_listed(same[:6])}{more}"
    recoded = [name for name in kept if name in plan.stepped]
    if recoded:
        rest = (f"{rest}; " if len(recoded) < len(kept) else "") + f"recoded only: {_listed(recoded)}"
    if plan.pseudonyms is not None:
        rest = f"rows of a unit can be linked, and together they may be its own; {rest}"
    shared = f"every published combination of {_listed(columns)} is shared by {whom}"
    if plan.per_column:
        shared = f"in each of {_listed(columns)} taken alone, every published value is shared by {whom}"
    elif plan.apart:
        blocks = " / ".join(map(_listed, plan.blocks or ()))
        alone = f"in each block of columns ({blocks}) taken alone"
        shared = f"{alone}, every published combination is shared by {whom}"
    if plan.apart:
        shared += "; taken together, a record's values may still be its own"
    return f"{shared}; {rest}"


def _least_words(plan: Plan, loss: Loss, bound: float | None, proven: bool) -> list[str]:
    """What is proven of the loss, in a sentence that stays true when read alone."""
    lost = f"lost {percent(loss.percent(loss.within))}"
    if bound is None:
        why = "nothing is proven: that needs whole, unweighted records, standardised and grouped in one piece"
        return [f"{lost}; {why}"] if get_method(plan.method).proves else []
    apart = ", each column by itself," if plan.per_column else ", each block of columns by itself,"
    within = (" within their strata" if plan.strata else "") + (apart if plan.apart else "")
    columns = "on these standardised columns into groups of at least"
    grouping = f"no grouping of these records{within} {columns} {plan.k}"
    if proven:
        return [f"{lost}; proven: {grouping}, published as means, loses less"]
    return [f"{lost}; {grouping} loses less than {percent(bound)}"]


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names))


def notes_on(
    plan: Plan, used: Sequence[str], counts: Mapping[str, int], sha256: str | None = None
) -> Iterator[str]:
    """What a careful colleague would point out of the way a release was made.

    `counts` are those of `Published`: gaps that were filled, records that moved for the sake of totals,
    values that became gaps, zeros that became other numbers. `sha256` is the fingerprint of the data, where
    the plan names one to compare it with.
    """
    filled, moved, thinned, zeros_lost = (counts[name] for name in COUNTS)
    if plan.version not in (None, shoal.__version__):
        changed = SINCE_0_1 if str(plan.version).startswith(("0.0.", "0.1.")) else ""
        yield f"the plan was written by shoal {plan.version}; this is {shoal.__version__}{changed}"
    if plan.sha256 is not None and sha256 is not None and sha256 != plan.sha256:
        yield "the data differ from those that the plan was written for"
    if dropped := plan.named("identifier"):
        yield f"identifiers dropped: {_listed(dropped)}"
    if plan.apart and not plan.per_column:
        yield "each block was grouped on its own: k holds for each block, not for the record"
    if filled:
        whom = "units, inside their group of units" if plan.unit else "records"
        why = f": records with gaps like theirs are too few for a group of k={plan.k} {whom}"
        why = why if plan.missing == "group" else ""
        total = "; they come on top of the totals" if plan.preserve == "totals" else ""
        gaps = _many(filled, "gap was filled with its", "gaps were filled with their")
        yield f"{gaps} group's value{why}{total}"
    if thinned:
        gaps = _many(thinned, "value became a gap", "values became gaps")
        yield f"{gaps}: fewer than {plan.contributors} records make up their cell"
    if zeros_lost:
        apart = "" if plan.zeros == "group" else "; zeros='group' (--zeros group) keeps them apart"
        yield _many(zeros_lost, "zero became another number", "zeros became other numbers") + apart
    centroids = [plan.centroids] if isinstance(plan.centroids, str) else plan.centroids.values()
    if single := [word for word in ("median", "trimmed", "mode") if word in centroids]:
        yield f"what a group publishes as its {' or '.join(single)} is often one record's own value"
    if moved:
        records = _many(moved, "record changed its group", "records changed their group")
        yield f"{records} so that totals could be kept"
    if plan.time_limit is not None:
        if any("time_limit" in get_method(key).supplied for key in used):
            yield "bounded by time: another machine may give another release; leave it out to repeat it"
        else:
            which = ", ".join(map(repr, used))
            yield f"method {which} does not work against the clock: the time limit had no effect"
