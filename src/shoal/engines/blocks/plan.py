"""The block plan: which record is grouped with which others, fixed before any grouping begins.

A tree of cuts made from a sample divides the table into blocks; exact counts then join blocks that are too
small. A plan is small, can be written down, and gives the same groups on every engine.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoal
from shoal.arrays import Ints
from shoal.engines.blocks.columns import Needed, StoredColumn
from shoal.engines.blocks.facts import Tally
from shoal.errors import InputError, too_few
from shoal.frame.column import Column
from shoal.frame.order import row_ids
from shoal.outcome import Outcome
from shoal.plan import Plan
from shoal.stages.encode import Drawn, Levels, Ranks, drawn
from shoal.stages.moments import Moments, Scale
from shoal.stages.strata import from_one, refuse_short

#: A block aims at a quarter of all records within these limits, and has at least an eighth of that: the
#: larger the blocks, the fewer groups lie at a border and cannot reach across (see docs/scaling.md).
SMALL, LARGE = 50_000, 500_000
#: A part of the table is cut again while it has more than this many times the records aimed at.
SLACK = 1.4
#: Records of the sample for each block, and the least and most in all.
SAMPLE, SAMPLE_LEAST, SAMPLE_MOST = 1000, 20_000, 1_000_000
#: Alike units are dealt out by chance: with so many times k for each block, none is short (k = 2: 1e-11).
ENOUGH = 16


@dataclass(frozen=True)
class BlockPlan:
    """All that the grouping of a block needs to know.

    `tree` is a leaf's number, or [column, threshold, tree of values up to it, tree of those above].
    Each stratum has leaves of its own: the number of its combination of levels times `leaves`, and the leaf.
    `places` has for each leaf that has records its first block and how many blocks share it (more than one
    only where too many records are alike to be cut apart); `counts` the records of each block. All records of
    a unit (in a stratum) lie in the leaf of the one with the least key: no unit is cut apart.
    """

    plan: Plan
    names: tuple[str, ...]
    records: int
    scales: tuple[Scale | Levels | Drawn, ...]
    middles: tuple[int | float, ...]  # where gaps are thought to lie
    tree: Any
    leaves: int
    target: int
    places: tuple[tuple[int, int, int], ...] = ()
    counts: tuple[int, ...] = field(default=())

    def leaves_in(self, needed: Needed, columns: Sequence[Column]) -> Ints:
        """The leaf of each record, of all columns that are needed."""
        own, strata = len(needed.chosen), len(needed.strata)
        values = [column.filled(middle) for column, middle in zip(columns[:own], self.middles)]
        leaves = np.empty(len(values[0]), np.int64)
        waiting: list[tuple[Any, NDArray | slice]] = [(self.tree, slice(None))]
        while waiting:
            node, rows = waiting.pop()
            if isinstance(node, int):
                leaves[rows] = node
                continue
            column, threshold, low, high = node
            below = values[column][rows] <= threshold
            if isinstance(rows, slice):
                rows = np.arange(len(leaves))
            waiting += [(low, rows[below]), (high, rows[~below])]
        return combination_of(columns[own : own + strata], len(leaves)) * self.leaves + leaves

    def keys_of(self, cells: Any) -> Ints:
        """A number for each record of an Arrow batch, the same for the same values: as if drawn at random."""
        return row_ids(cells, self.names)

    def blocks_of(self, leaves: Ints, ties: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The block of each record; `ties` are numbers that tell alike records (or units) apart."""
        known, first, shards = np.array(self.places, np.int64).T
        at = np.searchsorted(known, leaves)
        blocks = first[at]
        if shards.max() > 1:
            blocks += (ties % shards.astype(np.uint64)[at]).astype(np.int64)
        return blocks.astype(np.int32)

    def placed(self, found: Mapping[int, tuple[int, int]], title: Callable[[int], str] = str) -> "BlockPlan":
        """The plan with its leaves joined or shared out to blocks, by each leaf's records and units.

        Strata that need no block of their own share one. `title` is what a combination of levels is called.
        """
        k, most = self.plan.k, SLACK * self.target
        if self.plan.unit and not self.plan.strata and (units := sum(many for _, many in found.values())) < k:
            raise too_few(k, units, "units")
        strata: dict[int, NDArray] = {}
        for leaf in sorted(found):
            counts = strata.setdefault(leaf // self.leaves, np.zeros((2, self.leaves), np.int64))
            counts[:, leaf % self.leaves] = found[leaf]
        short = {title(number): int(c[1].sum()) for number, c in strata.items() if c[1].sum() < k}
        if short and self.plan.strata:
            refuse_short(k, short, "units" if self.plan.unit else "records")
        places: dict[int, tuple[int, int]] = {}
        blocks: list[int] = []
        shared = -1  # the block that takes in small strata
        for number, (records, units) in strata.items():
            own, sizes = _place(_depths(self.tree), records.tolist(), self.target, max(k, 2), units.tolist())
            first = len(blocks)
            if len(sizes) > 1:
                blocks += sizes
            elif shared >= 0 and blocks[shared] + sizes[0] <= most:
                first = shared
                blocks[shared] += sizes[0]
            else:
                shared = first
                blocks += sizes
            for leaf, (block, shards) in enumerate(own):
                places[number * self.leaves + leaf] = first + block, shards
        kept = tuple((leaf, *places[leaf]) for leaf in sorted(found))
        return replace(self, places=kept, counts=tuple(blocks))

    def seed_of(self, block: int) -> int:
        """The seed of one block, its own and always the same; the first block has the plan's."""
        if block == 0:
            return self.plan.seed
        return int(np.random.SeedSequence((self.plan.seed, block)).generate_state(1, np.uint32)[0])

    def require(self, plan: Plan, columns: Sequence[StoredColumn]) -> None:
        """Raise if this was made for another request."""
        facts = {f.name: (getattr(self.plan, f.name), getattr(plan, f.name)) for f in fields(plan)}
        facts["names"] = self.names, tuple(column.name for column in columns)
        for name, (made_for, asked) in facts.items():
            if name not in ("columns", "roles", "version", "sha256") and made_for != asked:
                raise InputError(
                    f"the block plan was made for {name}={made_for!r}, not {asked!r}: ask for the same"
                )

    def json(self) -> str:
        """The block plan as text. It holds values of single records: it is not for publication."""
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        facts |= {"plan": self.plan.toml(), "scales": [_told(scale) for scale in self.scales]}
        return json.dumps(facts, sort_keys=True, default=np.ndarray.tolist)

    @classmethod
    def from_json(cls, text: str) -> "BlockPlan":
        """The block plan that `json` wrote."""
        facts = json.loads(text)
        facts["plan"] = Plan.parse(facts["plan"])
        facts["scales"] = tuple(map(_scale, facts["scales"]))
        facts["places"] = tuple(tuple(place) for place in facts["places"])
        for name in ("names", "middles", "counts"):
            facts[name] = tuple(facts[name])
        return cls(**facts)

    def sha256(self) -> str:
        """The plan's fingerprint."""
        return hashlib.sha256(self.json().encode()).hexdigest()


_SCALES: dict[str, Any] = {kind.__name__: kind for kind in (Scale, Levels, Ranks, Drawn)}


def _told(scale: Any) -> dict[str, list[Any]]:
    """A scale for JSON: the name of its kind, and its facts."""
    return {type(scale).__name__: [_told(f) if isinstance(f, tuple) else f for f in scale]}


def _scale(told: Any) -> Any:
    """The scale that `_told` wrote."""
    if isinstance(told, list):
        return np.array(told)
    return _SCALES[next(iter(told))](*map(_scale, *told.values())) if isinstance(told, dict) else told


def combination_of(strata: Sequence[Column], records: int) -> Ints:
    """A number for each combination of levels; that of a gap is 0."""
    combination = np.zeros(records, np.int64)
    for column in strata:
        combination *= 1 + len(column.first if column.first is not None else ())
        combination += from_one(column)
    return combination


def private(outcome: Outcome, plans: Sequence[BlockPlan]) -> dict[str, Any]:
    """What makes the release again, and holds single records' values; one plan for each part of columns."""
    texts = [blocks.json() for blocks in plans]
    plan = texts[0] if len(texts) == 1 else texts
    return {"shoal": shoal.__version__, **outcome.summary(), "block_plan": plan}


def sha256_of(plans: Sequence[BlockPlan]) -> str:
    """The fingerprint of one plan, or of those of all parts."""
    one, *others = (blocks.sha256() for blocks in plans)
    return hashlib.sha256("".join([one, *others]).encode()).hexdigest() if others else one


def block_size(records: int) -> int:
    """How many records a block aims at."""
    return min(max(records // 4, SMALL), LARGE)


def sample_size(records: int, target: int) -> int:
    """How many records the cuts are made from."""
    wanted = min(max(SAMPLE * -(-records // target), SAMPLE_LEAST), SAMPLE_MOST)
    return min(records, wanted)


def make_plan(
    plan: Plan, columns: Sequence[StoredColumn], moments: Sequence[Moments | Tally], sample: Any, target: int
) -> BlockPlan:
    """The plan for a table of such moments, cut by a sample of its rows; not yet placed by exact counts."""
    records = moments[0].present + moments[0].gaps
    for column, facts in zip(columns, moments):
        if facts.gaps and plan.missing == "error":
            raise InputError(
                f"column {column.name!r} has {facts.gaps} gaps: fill them, leave the column out, "
                "or choose what to do with gaps (missing='group', 'impute' or 'drop')"
            )
    target = max(target, 4 * plan.k)
    scales = [facts.scale() for facts in moments]
    middles = [facts.middle() for facts in moments]
    some = [column.read(sample.column(column.name)) for column in columns]
    raw = [column.filled(middle) for column, middle in zip(some, middles)]
    # Levels without an order are cut only where nothing else can be.
    drawn_to = [v * 1e-9 if isinstance(s, Levels) else s.apply(v) for s, v in zip(scales, raw)]
    Z = np.stack(drawn_to, axis=1)
    most = max(1.0, SLACK * len(Z) * target / records)  # records of the sample that make a block
    leaves = [0]

    def grow(rows: Ints) -> Any:
        spread = Z[rows].var(0) if len(rows) > most else np.zeros(1)
        if spread.max() > 0:
            # All columns of a whole table may spread alike: then the first is cut, whatever the rounding.
            for j in np.argsort(-(spread / spread.max()).round(6), kind="stable"):
                threshold = _threshold(raw[j][rows])
                if threshold is not None:
                    low = raw[j][rows] <= threshold
                    return [int(j), threshold, grow(rows[low]), grow(rows[~low])]
        leaves[0] += 1
        return leaves[0] - 1

    tree = grow(np.arange(len(Z)))
    return BlockPlan(
        plan=plan,
        names=tuple(column.name for column in columns),
        records=records,
        scales=tuple(
            drawn(column, scale, column.name in plan.log, plan.scaling_of(column.name))
            for column, scale in zip(some, scales)
        ),
        middles=tuple(middles),
        tree=tree,
        leaves=leaves[0],
        target=target,
    )


def _threshold(values: NDArray) -> int | float | None:
    """The value that best halves these into those up to it and those above; None if all are alike."""
    ordered = np.sort(values)
    middle = ordered[(len(ordered) - 1) // 2]
    below, upto = np.searchsorted(ordered, middle), np.searchsorted(ordered, middle, side="right")
    if below and (upto == len(ordered) or upto - len(ordered) / 2 > len(ordered) / 2 - below):
        return ordered[below - 1].item()
    return middle.item() if upto < len(ordered) else None


def _depths(tree: Any, depth: int = 0) -> list[int]:
    """For neighbouring leaves, the depth at which they part: deeper means more alike."""
    if isinstance(tree, int):
        return []
    return [*_depths(tree[2], depth + 1), depth, *_depths(tree[3], depth + 1)]


def _place(
    parting: list[int], counts: Sequence[int], target: int, k: int, units: Sequence[int] | None = None
) -> tuple[list[tuple[int, int]], list[int]]:
    """Join leaves that are too small to the neighbour most alike, and share out those that are too large.

    A block has k `units` at least, and so many of a leaf that is shared out that chance gives each block k.
    """
    least = max(k, target // 8)
    groups = [[leaf] for leaf in range(len(counts))]
    sizes, people, parting = list(counts), list(counts if units is None else units), list(parting)
    while len(sizes) > 1:
        lacking = [j for j in range(len(sizes)) if sizes[j] < least or people[j] < k]
        if not lacking:
            break
        small = min(lacking, key=sizes.__getitem__)
        before = (parting[small - 1], -sizes[small - 1]) if small else (-1, 0)
        after = (parting[small], -sizes[small + 1]) if small + 1 < len(sizes) else (-1, 0)
        left = small - 1 if before > after else small
        groups[left] += groups.pop(left + 1)
        sizes[left] += sizes.pop(left + 1)
        people[left] += people.pop(left + 1)
        parting.pop(left)
    places: list[tuple[int, int]] = [(0, 1)] * len(counts)
    blocks: list[int] = []
    for group, size, count in zip(groups, sizes, people):
        shards = max(1, min(size // target, count // (ENOUGH * k))) if size > 3 * target else 1
        for leaf in group:
            places[leaf] = (len(blocks), shards)
        blocks += [size // shards] * shards
    return places, blocks
