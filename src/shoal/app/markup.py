"""HTML with text from data in it. Jinja or `Markup.format` escapes every value."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from nicegui import ui

FIELD = "outlined dense hide-bottom-space"  #: How fields of a form look.
STATIC = Path(__file__).parent / "static"
_ENVIRONMENT = Environment(loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined)
pieces: Any = _ENVIRONMENT.get_template("pieces.html").module  #: Pieces of the page: each gives `Markup`.


def sentence(words: Any) -> str:
    """With a capital letter (but for a lone k) and a full stop."""
    text = str(words)
    if not text.startswith(("k=", "k ")):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def show(markup: Markup, *values: Any, tag: str = "div") -> ui.html:
    """Put markup on the page, with these values in it, escaped. Only `Markup` is taken.

    This is a gate, so it is no `assert`: `python -O` takes those away.
    """
    if not isinstance(markup, Markup):
        raise TypeError(f"only Markup goes on the page, not {type(markup).__name__}: use Markup.format")
    return ui.html(str(markup.format(*values) if values else markup), sanitize=False, tag=tag)


def button(
    words: str, icon: str, act: Callable[[], Any], label: str = "", look: str = "unelevated"
) -> ui.button:
    """A button; `label` is what it is called for who cannot see it, where its words do not tell all."""
    made = ui.button(words, icon=icon or None, on_click=act).props(f"{look} no-caps")
    if label:
        made.props["aria-label"] = label
    return made


def field(kind: Callable[..., Any], label: str, value: Any, tell: Callable[[Any], None], **more: Any) -> Any:
    """A field of a form, which tells what is chosen or typed; a number without a fraction is whole."""

    def told(event: Any) -> None:
        given = event.value
        tell(int(given) if isinstance(given, float) and given.is_integer() else given)

    return kind(label=label, value=value, on_change=told, **more).props(FIELD)


def card(title: str, words: str) -> ui.element:
    """A card with its title and what it is about; to put more into."""
    made = ui.element("section").classes("card")
    with made:
        show(Markup("<h3>{}</h3><p class='soft'>{}</p>"), title, words)
    return made
