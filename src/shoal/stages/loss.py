"""What grouping loses: squared distances to the groups' means, and what publishing other values adds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.frame.column import Column
from shoal.grouping.partition import ColumnMoments, Partition
from shoal.stages.encode import Drawn, Levels, Space, encode
from shoal.stages.moments import Scale
from shoal.stages.publish import GroupValues
from shoal.stages.require import Part

#: Groups whose published values are compared with their means at a time: fresh memory for all of them costs
#: more than the work (20 million whole numbers with k = 3: 0.1 s instead of 0.9).
PIECE = 1 << 17


class Loss(NamedTuple):
    """Sums of squares: of all records, within groups, and between groups' means and what they publish."""

    total: float = 0.0
    within: float = 0.0
    rounding: float = 0.0

    def __add__(self, other: object) -> "Loss":
        assert isinstance(other, Loss)
        return Loss(*(a + b for a, b in zip(tuple(self), tuple(other))))

    def percent(self, part: float) -> float:
        return 100 * part / self.total if self.total else 0.0


def loss_space(columns: Sequence[Column], scales: Sequence[Scale | Levels | Drawn] | None = None) -> Space:
    """Where loss is measured: the columns as points, as they were before they were recoded."""
    if any(column.before is not None and column.measured is None for column in columns):
        return encode([column.before or column for column in columns])
    drawn = zip(columns, scales or ())
    measured = [column.measured.scale if column.measured else scale for column, scale in drawn]
    return encode([column.before or column for column in columns], scales=measured or None)


def measure(
    space: Space,
    columns: Sequence[Column],
    published: Sequence[GroupValues],
    partition: Partition,
    weight: Floats | None,
    moments: ColumnMoments | None = None,
) -> Loss:
    """The loss in standardised space. A gap weighs nothing: there is nothing to lose.

    Where a group publishes a gap in the place of values, all that is left of them is the mean of the column.
    `moments`: what the method that grouped by the only column has left there.
    """
    Z = space.matrix
    gaps = [*(column.gaps for column in columns), *(groups.gaps for groups in published)]
    if weight is not None or any(mask is not None for mask in gaps):
        loss = Loss()
        for j, column in enumerate(columns):
            shares = column.there * (np.ones(1) if weight is None else weight)
            places = _place(space, j, column, published[j].values)
            for z, place in zip(Z[:, space.spans[j]].T, places.T):
                loss += _weighted(z, place, published[j].gaps, partition, shares)
        return loss
    means, within = (moments.means[:, None], moments.sse) if moments else partition.means_and_sse(Z)
    total = moments.sst if moments else partition.sst(Z)
    rounding = 0.0
    if moments is None or not published[0].exact:
        for begin in range(0, len(partition), PIECE):
            piece = slice(begin, begin + PIECE)
            for j, (column, groups) in enumerate(zip(columns, published)):
                away = _place(space, j, column, groups.values[piece]) - means[piece, space.spans[j]]
                rounding += float(np.einsum("i,ij,ij->", partition.sizes[piece], away, away))
    unit = (len(Z) - 1) / total if space.unit == "raw" and total else 1.0
    return Loss(unit * total, unit * within, unit * rounding)


def lost_by_recoding(column: Column, weight: Floats | None = None) -> float:
    """What a column loses that is recoded and not grouped, in percent of its squares."""
    alone = Partition(np.arange(len(column.values)))
    space = loss_space([column], [column.measured.scale] if column.measured else None)
    loss = measure(space, [column], [GroupValues(column.values, column.gaps)], alone, weight)
    return loss.percent(loss.rounding)


def from_table_centre(
    part: Part, loss: Loss, space: Space, columns: Sequence[Column]
) -> tuple[Loss, dict[Any, Floats]]:
    """The loss; of a block with its total counted from 0: the centre of the table without weights.

    With weights, the second value has for each column the weight and the weighted sum of each coordinate: by
    those of all blocks `about_centre` finds the total about the weighted centre.
    """
    weight = part.weight
    if part.scales is None:
        return loss, {}
    squares = np.square(space.matrix)
    if weight is None:
        return loss._replace(total=float(squares.sum())), {}
    total, sums = 0.0, {}
    for column, span in zip(columns, space.spans):
        shares = column.there * weight
        total += float((shares @ squares[:, span]).sum())
        drawn = shares @ space.matrix[:, span]
        sums[column.name] = np.stack([np.full_like(drawn, shares.sum()), drawn])
    return loss._replace(total=total), sums


def about_centre(loss: Loss, sums: Mapping[Any, Floats]) -> Loss:
    """The loss of all blocks with weights, given the sums of all of them."""
    shift = sum(float((drawn**2 / np.maximum(weight, 1e-300)).sum()) for weight, drawn in sums.values())
    return loss._replace(total=loss.total - shift)


def _place(space: Space, j: int, column: Column, values: NDArray) -> Floats:
    """Where published values lie; a level that was joined of others lies amid the records that have it."""
    if column.before is None or not column.categorical:
        return space.place(j, values)
    if column.measured is not None and column.measured.places is not None:
        return column.measured.places[values]
    codes, points = column.present, space.matrix[column.there, space.spans[j]]
    sums = np.stack([np.bincount(codes, coordinate) for coordinate in points.T], axis=1)
    return (sums / np.bincount(codes)[:, None])[values]


def _weighted(z: NDArray, place: NDArray, gaps: Bools | None, partition: Partition, weight: Floats) -> Loss:
    labels, groups = partition.labels, len(partition)
    all_weight = float(weight.sum())
    centre = float(weight @ z) / all_weight if all_weight else 0.0
    sums = np.bincount(labels, weight, groups)
    means = np.bincount(labels, weight * z, groups) / np.where(sums > 0, sums, 1.0)
    place = place if gaps is None else np.where(gaps, centre, place)
    return Loss(
        float(weight @ np.square(z - centre)),
        float(weight @ np.square(z - means[labels])),
        float(sums @ np.square(place - means)),
    )
