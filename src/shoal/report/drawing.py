"""Drawing as inline SVG: text stays text, shapes and hatching carry what colours would.

Every label is drawn as it stands (no mathematical notation), so no column name can break a picture.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
DARK, MIDDLE, LIGHT, ACCENT = "#17324d", "#5b7f95", "#cfdde6", "#c2410c"
CHANGE = ("#f2b880", "#ffffff", "#7fc4d6")  # falls, stays, grows
#: By name, for the charts of the page.
COLOURS = {"DARK": DARK, "MIDDLE": MIDDLE, "LIGHT": LIGHT, "ACCENT": ACCENT}
FONTS = "'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
STYLE: dict[Any, Any] = {
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


@dataclass(frozen=True)
class Picture:
    """A picture that knows how to draw itself: on the report's page, or on Axes that a user gives."""

    name: str
    size: tuple[float, float]  # inches
    alt: str  # what it shows, in words
    draw: Callable[[Axes], None]

    def on(self, ax: Axes | None = None) -> Axes:
        """Draw on these Axes, or on those of a new figure of pyplot."""
        import matplotlib

        if ax is not None:
            with matplotlib.rc_context({"text.parse_math": False}):
                self.draw(ax)
            return ax
        from matplotlib import pyplot

        with matplotlib.rc_context(STYLE):
            new = pyplot.subplots(figsize=self.size, layout="constrained")[1]
            self.draw(new)
        return new

    def img(self) -> str:
        """The picture as an HTML image that holds it, for notebooks."""
        data = base64.b64encode(self.svg().encode()).decode()
        alt = html.escape(visible(self.alt))
        return f'<img alt="{alt}" width="{96 * self.size[0]:.0f}" src="data:image/svg+xml;base64,{data}">'

    def svg(self) -> str:
        """An SVG element with its description, to stand in a page or alone."""
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        with matplotlib.rc_context(STYLE | {"svg.hashsalt": self.name}):
            figure = Figure(figsize=self.size, layout="constrained")
            FigureCanvasSVG(figure)
            self.draw(figure.subplots())
            text = io.StringIO()
            untold = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(text, format="svg", transparent=True, metadata=untold)
        return _tidy(text.getvalue(), self.name, self.alt)


def _tidy(text: str, name: str, alt: str) -> str:
    """Make names unique within the page and add the description for readers who cannot see the picture."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)
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


def percent(axis: Axis) -> None:
    """Shares along an axis, in percent."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")


def legend_above(ax: Axes, columns: int) -> None:
    """A legend between the picture and its upper edge, where it hides nothing."""
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.3)
