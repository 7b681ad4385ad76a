"""HTML with text from data in it. Every value goes through `Markup.format`, which escapes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nicegui import ui

STATIC = Path(__file__).parent / "static"


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


def fragment(name: str) -> Markup:
    """A piece of the page that stands in a file, with places for `format`."""
    return Markup((STATIC / f"{name}.html").read_text(encoding="utf-8"))


def joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def text(kind: str, words: Any, css: str = "") -> ui.html:
    """One element with plain text in it."""
    return show(Markup("<{0} class='{1}'>{2}</{0}>").format(Markup(kind), css, words))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str, css: str = "") -> Markup:
    """A table; cells may be markup or any value."""
    return Markup(
        "<div class='scroll' tabindex='0' role='region' aria-label='{}'><table class='plain {}'>"
        "<caption class='unseen'>{}</caption>"
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(
        caption,
        css,
        caption,
        joined(Markup("<th scope='col'>{}</th>").format(name) for name in head),
        joined(
            Markup("<tr>{}</tr>").format(joined(Markup("<td>{}</td>").format(cell) for cell in row))
            for row in rows
        ),
    )


def select(label: str, options: Sequence[tuple[str, str]], chosen: str, **data: Any) -> Markup:
    """The browser's own list of choices, with a name for who cannot see it."""
    return Markup("<select aria-label='{}' {}>{}</select>").format(
        label,
        joined(Markup("data-{}='{}' ").format(Markup(key), value) for key, value in data.items()),
        joined(
            Markup("<option value='{}'{}>{}</option>").format(
                value, Markup(" selected") if value == chosen else "", words
            )
            for value, words in options
        ),
    )


def bars(counts: Sequence[float], classes: Sequence[str], label: str) -> Markup:
    """A small histogram; each bar tells its class and count when pointed at."""
    if not counts:
        return Markup("")
    width, height, top = 120, 30, max(*counts, 1)
    step = width / len(counts)
    drawn = joined(
        Markup("<g><title>{}: {}</title><rect class='hit' x='{}' y='0' width='{}' height='{}'/>").format(
            name, f"{count:,.0f}", f"{i * step:.1f}", f"{step:.1f}", height
        )
        + Markup("<rect x='{}' y='{}' width='{}' height='{}'/></g>").format(
            f"{i * step:.1f}",
            f"{height - height * count / top:.1f}",
            f"{max(step - 1, 0.5):.1f}",
            f"{height * count / top:.1f}",
        )
        for i, (count, name) in enumerate(zip(counts, classes))
    )
    return Markup("<svg class='bars' viewBox='0 0 {} {}' role='img' aria-label='{}'>{}</svg>").format(
        width, height, label, drawn
    )


def code(words: str, label: str) -> Markup:
    """Lines to copy."""
    return Markup(
        "<div class='code'><button type='button' data-copy aria-label='Copy {}'>Copy</button>"
        "<pre tabindex='0' aria-label='{}'>{}</pre></div>"
    ).format(label, label, words)
