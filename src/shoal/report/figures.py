"""Pictures of a release, each a function of plain numbers; reports and `Release.plot` draw the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.measures.measure import shown
from shoal.report import drawing
from shoal.report.drawing import ACCENT, DARK, LIGHT, MIDDLE, Picture, label, number, percent, visible
from shoal.report.pictures import correlation_changes, map_places, placed, size_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vP*Xp<>hd8"
BARS: dict[str, Any] = {"color": LIGHT, "edgecolor": DARK, "hatch": "///", "linewidth": 0.8}


def group_sizes(sizes: Mapping[Any, int], counted: str) -> Picture:
    """How many groups have how many records, or units."""
    names, counts = size_classes(sizes)

    def draw(axes: Axes) -> None:
        bars = axes.bar(range(len(names)), counts, 0.8, **BARS)
        if len(names) <= 20:
            axes.bar_label(bars, [f"{c:,}" if c else "" for c in counts], padding=2, fontsize=8.5)
        axes.set_xticks(range(len(names)), names, rotation=45 if len(names) > 16 else 0)
        axes.set_xlabel(f"{counted} in the group")
        axes.set_ylabel("groups")
        axes.margins(y=0.12)

    words = ", ".join(f"{c:,} groups of {n}" for n, c in zip(names, counts) if c)
    return Picture("sizes", (7.2, 2.6), f"Bar chart of group sizes: {words}.", draw)


def loss_by_column(columns: Mapping[str, float], overall: float, bound: float | None = None) -> Picture:
    """What each column lost, beside the whole and the proven least."""
    items = sorted(columns.items(), key=lambda item: item[1])[-30:]

    def draw(axes: Axes) -> None:
        bars = axes.barh(range(len(items)), [v for _, v in items], 0.7, **BARS)
        axes.bar_label(bars, [shown(v, "%") for _, v in items], padding=4, fontsize=8.5)
        axes.axvline(overall, color=DARK, linewidth=1.5, label=f"all columns together: {shown(overall, '%')}")
        if bound is not None:
            axes.axvline(
                bound, color=ACCENT, linewidth=1.5, linestyle="--", label=f"proven least: {shown(bound, '%')}"
            )
        axes.set_yticks(range(len(items)), [label(name) for name, _ in items])
        axes.set_xlabel("information lost, % of the column's variation")
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.margins(x=0.14)
        axes.set_xlim(left=0)
        drawing.legend_above(axes, 2)

    words = ", ".join(f"{visible(name)} {shown(value, '%')}" for name, value in reversed(items))
    ending = f"; proven least {shown(bound, '%')}" if bound is not None else ""
    alt = f"Bar chart of information lost by column: {words}. All together {shown(overall, '%')}{ending}."
    return Picture("loss", (7.2, 1.1 + 0.3 * len(items)), alt, draw)


def distribution(index: int, facts: Mapping[str, Any]) -> Picture:
    """One column before (hatched) and after (line)."""
    if "levels" in facts:
        return _levels(index, facts)
    edges, unit = np.array(facts["edges"]), facts["unit"]
    written = drawing.day if facts["moment"] else number

    def draw(axes: Axes) -> None:
        at = placed(edges, unit)
        filled: dict[str, Any] = {"facecolor": LIGHT, "edgecolor": MIDDLE, "hatch": "///"}
        axes.stairs(facts["before"], at, fill=True, label="before", **filled)
        axes.stairs(facts["after"], at, color=DARK, linewidth=1.8, label="after")
        ticks = _ticks(float(edges[0]), float(edges[-1]), unit)
        axes.set_xticks(placed(np.array(ticks), unit), [written(t) for t in ticks])
        axes.margins(x=0.02)
        _shares(axes, index, facts["column"])

    moved = 0.5 * float(np.abs(np.array(facts["before"]) - np.array(facts["after"])).sum())
    alt = (
        f"Distribution of {visible(facts['column'])} before and after, from {written(edges[0])} to "
        f"{written(edges[-1])}: {shown(moved, 'share')} of the records moved to another class."
    )
    return Picture(f"column{index}", (3.5, 2.1), alt, draw)


def _levels(index: int, facts: Mapping[str, Any]) -> Picture:
    """The share of each level before (hatched) and after (line)."""
    names, at = facts["levels"], np.arange(len(facts["levels"]))

    def draw(axes: Axes) -> None:
        axes.bar(at, facts["before"], 0.8, facecolor=LIGHT, edgecolor=MIDDLE, hatch="///", label="before")
        axes.bar(at, facts["after"], 0.8, fill=False, edgecolor=DARK, linewidth=1.8, label="after")
        few = len(names) <= 8
        axes.set_xticks(
            at, [label(name, 12) if few else "" for name in names], rotation=20 * (len(names) > 4)
        )
        _shares(axes, index, facts["column"])

    words = ", ".join(
        f"{visible(name)} {shown(before, 'share')} and {shown(after, 'share')}"
        for name, before, after in zip(names, facts["before"], facts["after"])
    )
    alt = f"Share of each level of {visible(facts['column'])} before and after: {words}."
    return Picture(f"column{index}", (3.5, 2.1), alt, draw)


def _shares(axes: Axes, index: int, column: str) -> None:
    """What each distribution has; the first one says which is before and which is after."""
    percent(axes.yaxis)
    axes.locator_params(axis="y", nbins=4)
    axes.set_title(label(column, 30))
    if index == 0:
        axes.legend(loc="best", handlelength=1.4)


def _ticks(low: float, high: float, unit: float | None) -> list[float]:
    """Round values that do not crowd each other."""
    if unit is None:
        from matplotlib.ticker import MaxNLocator

        return [t for t in MaxNLocator(4).tick_values(low, high) if low <= t <= high]
    room = 0.2 * (np.arcsinh(high / unit) - np.arcsinh(low / unit))
    powers = 10.0 ** np.arange(-12, 19)
    chosen: list[float] = []
    for tick in [0.0, *powers[::-1], *-powers[::-1], *3 * powers, *-3 * powers]:
        place = np.arcsinh(tick / unit)
        if low <= tick <= high and all(abs(place - np.arcsinh(c / unit)) >= room for c in chosen):
            chosen.append(float(tick))
    return sorted(chosen)


def correlation_change(detail: Mapping[str, Any]) -> Picture:
    """How each correlation changed: darker is more, the colour and the number say which way."""
    names, D, top = correlation_changes(detail)
    d = len(names)

    def draw(axes: Axes) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        cmap = LinearSegmentedColormap.from_list("change", drawing.CHANGE)
        axes.pcolormesh(D, cmap=cmap, vmin=-top, vmax=top, edgecolors="white", linewidth=1.5)
        for i in range(d):
            for j in range(d):
                if i != j and d <= 16:
                    place = (j + 0.5, i + 0.5)
                    axes.text(*place, _change(D[i, j]), ha="center", va="center", fontsize=8, color=DARK)
        places, short = np.arange(d) + 0.5, [label(name, 16) for name in names]
        axes.set_xticks(places, short, rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(places, short)
        axes.tick_params(length=0)
        axes.set_aspect("equal")
        axes.invert_yaxis()
        axes.spines[:].set_visible(False)

    other = np.abs(D - np.diag(np.diag(D)))
    i, j = divmod(int(other.argmax()), d)
    alt = (
        f"Heat map of the change of correlations between {d} columns. The largest is {D[i, j]:+.2f}, between "
        f"{visible(names[i])} and {visible(names[j])}."
    )
    side = 1.6 + 0.42 * d
    return Picture("correlations", (min(side + 0.6, 7.2), min(side, 6.6)), alt, draw)


def _change(value: float) -> str:
    return "0" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", "−").replace("0.", ".")


def record_map(facts: Mapping[str, Any]) -> Picture:
    """Records (dots) tied to the centre of their group (square), large values drawn together."""
    points, centres, codes = map_places(facts)

    def draw(axes: Axes) -> None:
        from matplotlib.collections import LineCollection

        lines = np.stack((points, centres[codes]), axis=1)
        axes.add_collection(LineCollection(list(lines), colors=MIDDLE, linewidths=0.6))
        axes.plot(*points.T, "o", color=DARK, markersize=2.6, markeredgewidth=0, label="record")
        axes.plot(*centres.T, "s", color="white", mec=ACCENT, markersize=4.2, label="centre of its group")
        for which, axis in enumerate((axes.xaxis, axes.yaxis)):
            low, high = np.sinh(points[:, which].min()), np.sinh(points[:, which].max())
            ticks = [t for t in (-100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100) if low <= t <= high]
            axis.set_ticks(np.arcsinh(ticks), [f"{t}".replace("-", "−") for t in ticks])
            share = shown(facts["explained"][which], "share")
            axis.set_label_text(f"{('first', 'second')[which]} component ({share} of the variation)")
        drawing.legend_above(axes, 2)

    alt = (
        f"Map of {facts['records']:,} of {facts['of']:,} records and the centres of their groups in "
        "the plane of the first two principal components; short lines mean that records lie near what "
        "is published for them."
    )
    return Picture("map", (7.2, 4.6), alt, draw)


def linkage(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], k: int) -> Picture:
    """The share of records linked by the number of columns that the intruder knows."""

    def draw(axes: Axes) -> None:
        for levels, name, style in ((before, "original", "s--"), (after, "release", "o-")):
            known, share, low, high = ([v[key] for v in levels] for key in ("known", "share", "low", "high"))
            color = MIDDLE if style == "s--" else DARK
            axes.plot(known, share, style, color=color, label=name, markersize=5)
            axes.fill_between(known, low, high, color=color, alpha=0.15, linewidth=0)
        axes.axhline(
            1 / k, color=ACCENT, linestyle=":", linewidth=1.5, label=f"1/k = {shown(1 / k, 'share')}"
        )
        axes.set_xticks([level["known"] for level in after][:: 1 + len(after) // 20])
        axes.set_ylim(-0.02, 1.05)
        percent(axes.yaxis)
        axes.set_xlabel("columns whose true values the intruder knows")
        axes.set_ylabel("records linked correctly")
        drawing.legend_above(axes, 3)

    alt = (
        f"Line chart: knowing all columns, {shown(before[-1]['share'], 'share')} of the records are "
        f"linked in the original and {shown(after[-1]['share'], 'share')} in the release."
    )
    return Picture("linkage", (7.2, 2.9), alt, draw)


def risk_utility_map(facts: Mapping[str, Any]) -> Picture:
    """Risk against loss, one point for each run; the front that no run beats; the proven bounds."""
    runs = facts["runs"]
    methods = list(dict.fromkeys(run["method"] for run in runs))
    front = [run for run in runs if run["pareto"]]
    bounds = {int(k): value for k, value in facts["bounds"].items()}

    def points(some: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
        return [r["information_loss"] for r in some], [r["risk"] for r in some]

    def draw(axes: Axes) -> None:
        axes.plot(
            *points(front),
            color=MIDDLE,
            linewidth=1.2,
            drawstyle="steps-post",
            label="front: nothing loses less and risks less",
            zorder=1,
        )
        for m, name in enumerate(methods):
            axes.plot(
                *points([r for r in runs if r["method"] == name]),
                MARKERS[m % len(MARKERS)],
                color=DARK,
                markerfacecolor="none",
                markersize=max(10 - 1.5 * m, 4),  # so that equal outcomes stay visible within each other
                markeredgewidth=1.3,
                label=name,
            )
        for k in sorted({r["k"] for r in runs}):
            best = min((r for r in runs if r["k"] == k), key=lambda r: r["information_loss"])
            beside: dict[str, Any] = {"textcoords": "offset points", "ha": "right"}
            axes.annotate(f"k={k}", (best["information_loss"], best["risk"]), (-6, -14), fontsize=9, **beside)
            if k in bounds:
                axes.axvline(bounds[k], color=ACCENT, linestyle=":", linewidth=1.1)
                beside |= {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top"}
                axes.annotate(
                    f"least at k={k}", (bounds[k], 0.99), (-3, 0), fontsize=8, color=ACCENT, **beside
                )
        axes.set_xlabel("information lost, %")
        axes.set_ylabel("risk: records linked correctly")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.margins(0.1)
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        percent(axes.yaxis)
        drawing.legend_above(axes, 4)

    words = "; ".join(
        f"{r['method']} at k={r['k']} loses {shown(r['information_loss'], '%')} and risks "
        f"{shown(r['risk'], 'share')}"
        for r in runs
    )
    return Picture("tradeoff", (7.2, 3.8), f"Risk against loss: {words}.", draw)
