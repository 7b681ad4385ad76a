"""Drawing as inline SVG: text stays text, shapes and hatching carry what colours would.

Every label is drawn as it stands (no mathematical notation), so no column name can break a picture.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
DARK, MIDDLE, LIGHT, ACCENT = "#17324d", "#5b7f95", "#cfdde6", "#c2410c"
FONTS = "'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",  # comes with matplotlib, and is wide: what fits with it fits with others
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#7a8894",
    "axes.labelcolor": "#26323c",
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "xtick.color": "#4a5763",
    "ytick.color": "#4a5763",
    "hatch.linewidth": 0.7,
    "hatch.color": MIDDLE,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def visible(text: Any) -> str:
    """A text in which characters that are not printed, and could steer a reader's screen, show as a box."""
    return "".join(c if c.isprintable() else "\N{WHITE SQUARE}" for c in str(text))


def label(text: Any, most: int = 22) -> str:
    """A name short enough to stand beside an axis."""
    text = visible(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def number(value: float) -> str:
    """A tick in few characters: 1200 is 1.2k."""
    for size, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g}{sign}"
    return "0" if abs(value) < 1e-12 else f"{value:.3g}"


def day(value: float) -> str:
    """The day of a moment, given in microseconds since 1970."""
    return str(np.datetime64(int(value), "us").astype("datetime64[D]"))


def drawn(name: str, size: tuple[float, float], alt: str, draw: Callable[[Any], None]) -> str:
    """Draw on a new figure and give it as an SVG element with its description."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = STYLE | {"svg.hashsalt": name}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _tidy(text.getvalue(), name, alt)


def _tidy(text: str, name: str, alt: str) -> str:
    """Names unique within the page, a size that follows the page, and a description for who cannot see it."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)
    for child in [c for c in root if c.tag == f"{{{SVG}}}metadata"]:
        root.remove(child)
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif value.startswith("#") and key in (f"{{{XLINK}}}href", "href"):
                element.set(key, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
            elif key == "style" and "'DejaVu Sans'" in value:
                element.set(key, value.replace("'DejaVu Sans'", FONTS))
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-alt")
    title = ElementTree.Element(f"{{{SVG}}}title", {"id": f"{name}-alt"})
    title.text = visible(alt)
    root.insert(0, title)
    return ElementTree.tostring(root, encoding="unicode")


def percent(axis: Any) -> None:
    """Shares along an axis, in percent."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
