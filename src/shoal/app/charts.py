"""The charts of a run as options of ECharts. Text from data is only ever a value, never a key or markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from nicegui import ui

from shoal.measures.measure import digits
from shoal.report.drawing import day

ACCENT, GREY, PALE, INK = "#0e7490", "#8595a3", "#d5dee5", "#334155"
FONT = {"fontFamily": "Roboto, system-ui, sans-serif", "fontSize": 12, "color": INK}
TOOLTIP = {
    "renderMode": "richText",  # drawn, not written into the page: no text can become HTML
    "confine": True,
    "backgroundColor": "#ffffff",
    "borderColor": PALE,
    "textStyle": FONT,
}


def draw(options: dict[str, Any], words: str, height: int = 260, on_click: Any = None) -> ui.echart:
    """A chart, with what it shows in words for who cannot see it."""
    base = {
        "textStyle": FONT,
        "animationDuration": 250,
        "grid": {"left": 8, "right": 16, "top": 36, "bottom": 4, "containLabel": True},
        "tooltip": TOOLTIP,
    }
    chart = ui.echart({**base, **options}, on_point_click=on_click)
    chart.style(f"height: {height}px; width: 100%")
    chart.props["role"] = "img"
    chart.props["aria-label"] = words
    return chart


def _axis(name: str = "", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "nameLocation": "middle",
        "nameGap": 28,
        "axisLine": {"lineStyle": {"color": PALE}},
        "axisTick": {"show": False},
        "axisLabel": {"color": "#52616e", "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": "#eef2f5"}},
        "nameTextStyle": {"color": "#52616e", **({"align": "left"} if "nameLocation" in more else {})},
        **more,
    }


def _legend(*names: str) -> dict[str, Any]:
    return {"data": list(names), "left": 0, "top": 0, "icon": "roundRect", "itemWidth": 12, "itemHeight": 8}


def distribution(facts: Mapping[str, Any]) -> dict[str, Any]:
    """One column before and after, drawn over each other."""
    said = [day(e) if facts["moment"] else digits(e) for e in facts["edges"]]
    percent = lambda shares: [round(100 * share, 2) for share in shares]  # noqa: E731
    bar = {"type": "bar", "barGap": "-100%", "barCategoryGap": "4%"}
    return {
        "legend": _legend("original", "release"),
        "tooltip": {**TOOLTIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "grid": {"left": 8, "right": 16, "top": 44, "bottom": 4, "containLabel": True},
        "xAxis": _axis(type="category", data=[f"{a} to {b}" for a, b in pairwise(said)]),
        "yAxis": _axis(type="value", name="% of records", nameLocation="end", nameGap=8),
        "series": [
            {**bar, "name": "original", "data": percent(facts["before"]), "itemStyle": {"color": PALE}},
            {
                **bar,
                "name": "release",
                "data": percent(facts["after"]),
                "itemStyle": {"color": "rgba(14,116,144,.22)", "borderColor": ACCENT, "borderWidth": 1.2},
            },
        ],
    }


def correlations(detail: Mapping[str, Any]) -> dict[str, Any]:
    """How much each correlation changed."""
    names = list(detail["names"])
    change = np.asarray(detail["after"], float) - np.asarray(detail["before"], float)
    largest = max(float(np.abs(change).max()), 0.01)
    cells = [
        {"name": f"{names[i]} and {names[j]}", "value": [j, i, round(float(change[i, j]), 3)]}
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    short = {"color": "#52616e", "width": 88, "overflow": "truncate", "interval": 0}
    return {
        "grid": {"left": 8, "right": 8, "top": 8, "bottom": 40, "containLabel": True},
        "xAxis": _axis(type="category", data=names, axisLabel={**short, "rotate": 35}),
        "yAxis": _axis(type="category", data=names, axisLabel=short, inverse=True),
        "visualMap": {
            "min": -round(largest, 3),
            "max": round(largest, 3),
            "precision": 3,
            "orient": "horizontal",
            "left": "center",
            "bottom": 0,
            "itemWidth": 10,
            "itemHeight": 120,
            "calculable": False,
            "inRange": {"color": ["#f2b880", "#ffffff", "#7fc4d6"]},
        },
        "series": [
            {
                "type": "heatmap",
                "name": "change of correlation",
                "data": cells,
                "label": {"show": len(names) <= 8, "color": INK, "fontSize": 11},
                "itemStyle": {"borderColor": "#ffffff", "borderWidth": 2},
            }
        ],
    }


def group_map(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Some whole groups in the plane of the two principal directions, each record tied to its centre."""
    points, groups = np.asarray(facts["points"], float), np.asarray(facts["groups"])
    _, codes = np.unique(groups, return_inverse=True)
    sizes = np.bincount(codes)
    centres = np.stack([np.bincount(codes, points[:, j]) / sizes for j in (0, 1)], axis=1).round(4)
    share = [f"{100 * value:.0f} %" for value in facts["explained"]]
    return {
        "legend": _legend("records", "centres of groups"),
        "grid": {"left": 8, "right": 16, "top": 44, "bottom": 24, "containLabel": True},
        "xAxis": _axis(f"first direction ({share[0]} of the variation)", type="value", scale=True),
        "yAxis": _axis(f"second ({share[1]})", type="value", scale=True, nameLocation="end", nameGap=8),
        "series": [
            {
                "type": "lines",
                "coordinateSystem": "cartesian2d",
                "silent": True,
                "data": [{"coords": [p.tolist(), centres[g].tolist()]} for p, g in zip(points, codes)],
                "lineStyle": {"color": GREY, "width": 0.8, "opacity": 0.55, "curveness": 0},
            },
            {
                "type": "scatter",
                "name": "records",
                "symbolSize": 4,
                "data": points.tolist(),
                "itemStyle": {"color": GREY},
            },
            {
                "type": "scatter",
                "name": "centres of groups",
                "symbolSize": 6,
                "data": centres.tolist(),
                "itemStyle": {"color": ACCENT},
            },
        ],
    }


def group_sizes(sizes: Mapping[str, int]) -> dict[str, Any]:
    """How many groups have how many records."""
    ordered = sorted((int(size), count) for size, count in sizes.items())
    low, high = ordered[0][0], ordered[-1][0]
    edges = np.arange(low, high + 2)
    if len(edges) > 31:
        edges = np.unique(np.geomspace(low, high + 1, 20).round().astype(int))
    counts = np.histogram([s for s, _ in ordered], edges, weights=[c for _, c in ordered])[0]
    names = [str(a) if b == a + 1 else f"{a} to {b - 1}" for a, b in pairwise(edges.tolist())]
    return {
        "grid": {"left": 8, "right": 16, "top": 28, "bottom": 24, "containLabel": True},
        "tooltip": {**TOOLTIP, "trigger": "axis", "axisPointer": {"type": "shadow"}},
        "xAxis": _axis("records in a group", type="category", data=names),
        "yAxis": _axis("groups", type="value", nameLocation="end", nameGap=8),
        "series": [
            {
                "type": "bar",
                "name": "groups",
                "data": counts.tolist(),
                "barMaxWidth": 36,
                "itemStyle": {"color": ACCENT, "opacity": 0.75},
            }
        ],
    }


def linkage(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], k: int
) -> dict[str, Any]:
    """The share of records that an intruder links correctly, by how many columns he knows."""
    numbers = [level["known"] for level in after]
    percent = lambda levels: [round(100 * level["share"], 3) for level in levels]  # noqa: E731
    line = {"type": "line", "symbolSize": 7, "lineStyle": {"width": 2}}
    limit = {"yAxis": round(100 / k, 2), "name": "1/k"}
    return {
        "legend": _legend("original", "release"),
        "tooltip": {**TOOLTIP, "trigger": "axis"},
        "grid": {"left": 8, "right": 40, "top": 44, "bottom": 24, "containLabel": True},
        "xAxis": _axis("columns whose true values the intruder knows", type="category", data=numbers),
        "yAxis": _axis("% linked correctly", type="value", max=100, nameLocation="end", nameGap=8),
        "series": [
            {**line, "name": "original", "data": percent(before), "itemStyle": {"color": GREY}},
            {
                **line,
                "name": "release",
                "data": percent(after),
                "itemStyle": {"color": ACCENT},
                "markLine": {
                    "silent": True,
                    "symbol": "none",
                    "data": [limit],
                    "lineStyle": {"color": INK, "type": "dotted"},
                    "label": {"formatter": "1/k", "color": INK},
                },
            },
        ],
    }


def risk_utility(points: Sequence[Mapping[str, Any]], shown: int | None) -> dict[str, Any]:
    """Every run as a point: what it loses, what it risks; the front that none beats; the proven bounds."""
    front, lowest = [], float("inf")
    for point in sorted(points, key=lambda p: (p["loss"], p["risk"])):
        if point["risk"] < lowest:
            front.append([point["loss"], point["risk"]])
            lowest = point["risk"]
    marks = [
        {
            "value": [point["loss"], point["risk"]],
            "name": point["title"],
            "symbolSize": 20 if point["number"] == shown else 13,
            "itemStyle": {
                "color": ACCENT if point["number"] == shown else "#ffffff",
                "borderColor": ACCENT,
                "borderWidth": 2,
            },
            "label": {"show": True, "formatter": f"k={point['k']}", "position": "top", "color": INK},
        }
        for point in points
    ]
    bounds = {point["k"]: point["bound"] for point in points if point.get("bound") is not None}
    return {
        "grid": {"left": 8, "right": 24, "top": 36, "bottom": 24, "containLabel": True},
        "xAxis": _axis("information lost, %", type="value", min=0),
        "yAxis": _axis("% linked correctly", type="value", min=0, nameLocation="end", nameGap=8),
        "series": [
            {
                "type": "scatter",
                "name": "runs",
                "data": marks,
                "cursor": "pointer",
                "z": 3,
                "markLine": {
                    "silent": True,
                    "symbol": "none",
                    "data": [
                        {"xAxis": value, "label": {"formatter": f"least at k={k}"}}
                        for k, value in bounds.items()
                    ],
                    "lineStyle": {"color": GREY, "type": "dotted"},
                    "label": {"color": "#52616e", "position": "insideEndTop", "fontSize": 10},
                },
            },
            {
                "type": "line",
                "step": "end",
                "silent": True,
                "symbol": "none",
                "data": front,
                "lineStyle": {"color": PALE, "width": 2},
                "tooltip": {"show": False},
            },
        ],
    }
