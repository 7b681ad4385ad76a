"""The charts of a run as options of ECharts. Text from data is only ever a value, never a key or markup.

How they look stands in `static/charts.json`; numbers and colours are those of the report's pictures.
Tooltips are drawn (`richText`), so no text becomes HTML.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from string import Template
from typing import Any

from nicegui import ui

from shoal.app.markup import STATIC
from shoal.measures.measure import digits
from shoal.report.drawing import CHANGE, COLOURS, DARK, day
from shoal.report.pictures import correlation_changes, front, map_places, size_classes

INK = "#334155"
_TEXT = Template((STATIC / "charts.json").read_text(encoding="utf-8"))
LOOKS = json.loads(_TEXT.substitute(COLOURS, CHANGE=json.dumps(CHANGE)))


def draw(options: dict[str, Any], words: str, height: int = 260, on_click: Any = None) -> ui.echart:
    """A chart, with what it shows in words for who cannot see it."""
    base = {**LOOKS["base"], "tooltip": LOOKS["tooltip"]}
    chart = ui.echart({**base, **options}, on_point_click=on_click)
    chart.style(f"height: {height}px; width: 100%")
    chart.props["role"] = "img"
    chart.props["aria-label"] = words
    return chart


def _grid(**more: int) -> dict[str, Any]:
    return {**LOOKS["grid"], **more}


def _axis(name: str = "", **more: Any) -> dict[str, Any]:
    return {**LOOKS["axis"], "name": name, **more}


def _upright(name: str, **more: Any) -> dict[str, Any]:
    """An axis of numbers, with its name at its end."""
    return _axis(name, **{**LOOKS["upright"], **more})


def _legend(*names: str) -> dict[str, Any]:
    return {**LOOKS["legend"], "data": list(names)}


def _series(look: str, data: Any, **more: Any) -> dict[str, Any]:
    return {**LOOKS[look], "data": data, **more}


def _percent(shares: Sequence[float], places: int) -> list[float]:
    return [round(100 * share, places) for share in shares]


def distribution(facts: Mapping[str, Any]) -> dict[str, Any]:
    """One column before and after, drawn over each other."""
    if "levels" in facts:
        classes = [str(level) for level in facts["levels"]]
    else:
        said = [day(e) if facts["moment"] else digits(e) for e in facts["edges"]]
        classes = [f"{a} to {b}" for a, b in pairwise(said)]
    return {
        "legend": _legend("original", "release"),
        "tooltip": {**LOOKS["tooltip"], **LOOKS["by class"]},
        "grid": _grid(top=44),
        "xAxis": _axis(type="category", data=classes),
        "yAxis": _upright("% of records"),
        "series": [_series(f"shares {when}", _percent(facts[when], 2)) for when in ("before", "after")],
    }


def correlations(detail: Mapping[str, Any]) -> dict[str, Any]:
    """How much each correlation changed."""
    names, change, largest = correlation_changes(detail)
    short, largest = LOOKS["short"], round(largest, 3)
    cells = [
        {"name": f"{names[i]} and {names[j]}", "value": [j, i, round(float(change[i, j]), 3)]}
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    label = {"show": len(names) <= 8, "color": INK, "fontSize": 11}
    return {
        "grid": _grid(right=8, top=8, bottom=40),
        "xAxis": _axis(type="category", data=names, axisLabel={**short, "rotate": 35}),
        "yAxis": _axis(type="category", data=names, axisLabel=short, inverse=True),
        "visualMap": {**LOOKS["scale"], "min": -largest, "max": largest},
        "series": [_series("changes", cells, label=label)],
    }


def group_map(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Some whole groups in the plane of the two principal directions, each record tied to its centre."""
    points, centres, codes = map_places(facts)
    points, centres = points.round(4), centres.round(4)
    share = [f"{100 * value:.0f} %" for value in facts["explained"]]
    silent = {"axisLabel": {"show": False}, "scale": True}  # large values are drawn together
    ties = [{"coords": [p.tolist(), centres[g].tolist()]} for p, g in zip(points, codes)]
    return {
        "legend": _legend("records", "centres of groups"),
        "grid": _grid(top=44, bottom=24),
        "xAxis": _axis(f"first direction ({share[0]} of the variation)", type="value", **silent),
        "yAxis": _upright(f"second ({share[1]})", **silent),
        "series": [
            _series("ties", ties),
            _series("records", points.tolist()),
            _series("centres", centres.tolist()),
        ],
    }


def group_sizes(sizes: Mapping[str, int], counted: str) -> dict[str, Any]:
    """How many groups have how many records, or units."""
    names, counts = size_classes(sizes)
    return {
        "grid": _grid(top=28, bottom=24),
        "tooltip": {**LOOKS["tooltip"], **LOOKS["by class"]},
        "xAxis": _axis(f"{counted} in a group", type="category", data=names),
        "yAxis": _upright("groups"),
        "series": [_series("groups", counts)],
    }


def linkage(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], k: int
) -> dict[str, Any]:
    """The share of records that an intruder links correctly, by how many columns he knows."""
    numbers = [level["known"] for level in after]
    shares = [_percent([level["share"] for level in levels], 3) for levels in (before, after)]
    limit = _series("limit", [{"yAxis": round(100 / k, 2), "name": "1/k"}])
    return {
        "legend": _legend("original", "release"),
        "tooltip": {**LOOKS["tooltip"], "trigger": "axis"},
        "grid": _grid(right=40, top=44, bottom=24),
        "xAxis": _axis("columns whose true values the intruder knows", type="category", data=numbers),
        "yAxis": _upright("% linked correctly", max=100),
        "series": [_series("linked before", shares[0]), _series("linked after", shares[1], markLine=limit)],
    }


def risk_utility(points: Sequence[Mapping[str, Any]], shown: int | None) -> dict[str, Any]:
    """Every run as a point: what it loses, what it risks; the front that none beats; the proven bounds."""
    places = [(point["loss"], point["risk"]) for point in points]
    marks = []
    for point in points:
        here = point["number"] == shown
        style = {"color": DARK if here else "#ffffff", "borderColor": DARK, "borderWidth": 2}
        label = {"show": True, "formatter": f"k={point['k']}", "position": "top", "color": INK}
        value, size = [point["loss"], point["risk"]], 20 if here else 13
        mark = {"value": value, "name": point["title"], "symbolSize": size, "itemStyle": style}
        marks.append({**mark, "label": label})
    bounds = {point["k"]: point["bound"] for point in points if point.get("bound") is not None}
    lines = [{"xAxis": least, "label": {"formatter": f"least at k={k}"}} for k, least in bounds.items()]
    return {
        "grid": _grid(right=24, bottom=24),
        "xAxis": _axis("information lost, %", type="value", min=0),
        "yAxis": _upright("% linked correctly", min=0),
        "series": [
            _series("runs", marks, markLine=_series("bounds", lines)),
            _series("front", [list(places[best]) for best in front(places)]),
        ],
    }
