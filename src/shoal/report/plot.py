"""Pictures of a release, on matplotlib's Axes: the same that a report shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, did_you_mean
from shoal.report import figures, pictures
from shoal.report.model import histogram
from shoal.stages.units import group_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shoal.release import Release
    from shoal.report.drawing import Picture

SMALL = 3  # distributions in a notebook: those of the columns that lost most


class Plot:
    """What `release.plot` gives. Each picture takes `ax`, or makes a new figure, and returns the Axes."""

    def __init__(self, release: Release):
        self._release = release

    def loss(self, ax: Axes | None = None) -> Axes:
        """What each column lost, beside the whole."""
        lost = self._release.utility()
        by_column = {str(name): value for name, value in lost["information_loss"].columns.items()}
        return figures.loss_by_column(by_column, lost["information_loss"].overall).on(ax)

    def sizes(self, ax: Axes | None = None) -> Axes:
        """How many groups have how many records, or units where k counts those."""
        return self._sizes().on(ax)

    def _sizes(self) -> Picture:
        sizes = histogram(group_sizes(self._release.labels, self._release.units))
        return figures.group_sizes(sizes, self._release.outcome.counted)

    def _repr_html_(self) -> str:
        """Small pictures: the sizes of groups, and up to three columns before and after."""
        shown = [self._sizes()]
        if self._release.original is not None:
            facts = pictures.distributions(self._release.measured.pair(), SMALL)
            shown += [figures.distribution(place, column) for place, column in enumerate(facts)]
        return "".join(picture.img() for picture in shown)

    def before_after(self, column: Any, ax: Axes | None = None) -> Axes:
        """The distribution of one column in the original and in the release."""
        columns = self._release.measured.pair().columns
        if column not in columns.names:
            hint = did_you_mean(str(column), map(str, columns.names))
            raise InputError(f"no column {column!r} was protected: {hint}")
        chosen = columns[columns.names.index(column)]
        return figures.distribution(0, pictures.distribution(chosen)).on(ax)

    def correlations(self, ax: Axes | None = None) -> Axes:
        """How much each correlation changed."""
        lost = self._release.utility()
        if "correlations" not in lost:
            raise InputError("fewer than two numeric columns were protected: there is no correlation to draw")
        return figures.correlation_change(lost["correlations"].detail).on(ax)

    def map(self, ax: Axes | None = None) -> Axes:
        """Some whole groups in the plane of the first two principal components."""
        facts = pictures.record_map(self._release.measured.pair(), self._release.labels)
        if facts is None:
            raise InputError("a map needs two numeric columns that were grouped together")
        return figures.record_map(facts).on(ax)
