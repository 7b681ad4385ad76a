"""HTML with text from data in it. Jinja or `Markup.format` escapes every value."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from nicegui import ui

STATIC = Path(__file__).parent / "static"
_ENVIRONMENT = Environment(loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined)
pieces: Any = _ENVIRONMENT.get_template("pieces.html").module  #: Pieces of the page: each gives `Markup`.


def sentence(words: Any) -> str:
    """With a capital letter (but for a lone k) and a full stop."""
    text = str(words)
    if not text.startswith(("k=", "k ")):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def show(markup: Markup, tag: str = "div") -> ui.html:
    """Put markup on the page. Only `Markup` is taken, so that nothing unescaped gets here.

    This is a gate, so it is no `assert`: `python -O` takes those away.
    """
    if not isinstance(markup, Markup):
        raise TypeError(f"only Markup goes on the page, not {type(markup).__name__}: use Markup.format")
    return ui.html(str(markup), sanitize=False, tag=tag)


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def text(kind: str, words: Any, css: str = "") -> ui.html:
    """One element with plain text in it."""
    return show(Markup("<{0} class='{1}'>{2}</{0}>").format(Markup(kind), css, words))
