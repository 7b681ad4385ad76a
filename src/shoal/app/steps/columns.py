"""Step 2, column by column: everyday steps, what each group must hold, and how a column is grouped."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import FIELD, button, card, show
from shoal.app.tab import Tab
from shoal.words import NUMBERS


class Form(NamedTuple):
    """One way to say a field: what a plan writes before its numbers, the words for it, and its numbers."""

    before: str
    words: str
    numbers: tuple[str, ...]
    between: str = ","


_TAILS = (Form("", "a value", ("value",)), Form("q", "a share of all values", ("share, such as 0.99",)))
FORMS: dict[str, tuple[str, tuple[Form, ...]]] = {
    "diversity": (
        "In each group, values of this column",
        (
            Form("", "so many different ones", ("values, at least",)),
            Form("entropy:", "as even as so many equally frequent ones", ("values",)),
            Form("recursive:", "recursive (c, l)-diversity", ("c", "l")),
            Form("share:", "none in more than a share of the records", ("share, up to 1",)),
        ),
    ),
    "closeness": (
        "In each group, distributed as in the whole table",
        (
            Form("", "within a distance (t-closeness)", ("t, 0 to 1",)),
            Form("beta:", "likeness (beta)", ("beta",)),
            Form("enhanced_beta:", "enhanced likeness (beta)", ("beta",)),
            Form("delta:", "disclosure privacy (delta)", ("delta",)),
        ),
    ),
    "dominance": (
        "In each group, the largest in the sum",
        (
            Form("", "the n largest have at most p %", ("n", "p"), ":"),
            Form("p:", "p % rule", ("p",)),
            Form("pq:", "p/q rule", ("p", "q")),
        ),
    ),
    "spread": (
        "In each group, values span at least",
        (Form("", "standard deviations", ("sd",)), Form("rel:", "a share of their mean", ("share",))),
    ),
    "top": ("Cap values above", _TAILS),
    "bottom": ("Cap values below", _TAILS),
    "round": (
        "Round what is published",
        (
            Form("", "to decimals", ("decimals",)),
            Form("sig:", "to significant digits", ("digits",)),
            Form("base:", "to multiples", ("of",)),
        ),
    ),
}
_WORDS = {
    "scaling": ("Scaling", ["standard", "robust", "range", "rank", "none"]),
    "centroids": ("Centroid", ["mean", "median", "trimmed", "mode"]),
}
_LISTS = {
    "log": "Group it by its logarithm",
    "strata": "Groups never cross its values",
    "by_record": "The same within each unit, and still grouped over records",
}
_TITLES = {
    **{name: title for name, (title, _) in FORMS.items()},
    **{name: title for name, (title, _) in _WORDS.items()},
    "regroup": "Levels joined",
    "column_weights": "Share in distances",
    "blocks": "Block",
    "missing_codes": "Codes for gaps",
    "levels": "Order of levels",
}


def read_form(name: str, value: Any) -> tuple[int, list[float | None]]:
    """Which form a value of the plan has, and its numbers; -1 for none."""
    forms = FORMS[name][1]
    if value is None:
        return -1, []
    text = str(value)
    at = max(range(len(forms)), key=lambda j: (text.startswith(forms[j].before), len(forms[j].before)))
    words = [word for word in re.split("[:,]", text[len(forms[at].before) :]) if word]
    return at, [float(word) for word in words]


def write_form(form: Form, numbers: list[float | None]) -> Any:
    """What a plan has for the form with these numbers. One that is missing makes it a plan's error."""
    plain = [None if x is None else int(x) if float(x).is_integer() else x for x in numbers]
    if len(plain) == 1 and not form.before:
        return plain[0]
    return form.before + form.between.join("" if x is None else str(x) for x in plain)


def build(tab: Tab) -> None:
    """A column to choose, its fields, and a list of what is said of any column."""
    draft, columns = tab.draft, {column["name"]: column for column in tab.table.facts["columns"]}
    names = dict(enumerate(columns))

    def put(field: str, column: str, value: Any) -> None:
        draft.say(field, column, value)
        tab.save_draft()
        tell()

    def tell() -> None:
        """Everything that is said, each with a way to take it back; and what is wrong with it."""
        tab.check()
        listed.clear()
        with listed:
            for field, said in draft.columns.items():
                for column, value in said.items():
                    words = f"{column}: {_TITLES[field].lower()} {_plainly(value)}"
                    off = partial(forget, field, column)
                    ui.chip(words, removable=True, on_value_change=off, color="#e6f2f5")

    def forget(field: str, column: str) -> None:
        put(field, column, None)
        choose(chosen.value)

    def choose(place: int) -> None:
        tab.edited = place
        holder.clear()
        with holder:
            _fields(tab, columns[names[place]], put)

    words = "Tails, levels, rounding, what each group must hold, and how a column is grouped."
    with card("Column by column", words).classes("by-column"):
        place = tab.edited if tab.edited in names else 0
        change = lambda e: choose(e.value)  # noqa: E731
        chosen = ui.select(names, label="Column", value=place, with_input=True, on_change=change)
        chosen.props(FIELD).classes("besides")
        holder = ui.element("div")
        listed = ui.element("div").classes("chips")
    choose(place)
    tell()


def _plainly(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{title}: {_plainly(members)}" for title, members in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _fields(tab: Tab, column: dict[str, Any], put: Callable[[str, str, Any], None]) -> None:
    """The fields that a column of this role and type can have, and why others are not there."""
    draft, name = tab.draft, column["name"]
    role, kind = draft.roles[name], draft.type_of(name)
    protected, numeric = role == "quasi", kind in NUMBERS
    if role in ("identifier", "unit", "weight"):
        show(Markup("<p class='soft'>{} has the role {}: nothing more is said of it.</p>"), name, role)
        return
    show(
        Markup("<p class='soft'>{}: {}, {}. {}</p>"),
        name,
        role,
        "as numbers" if numeric else "as categories",
        "" if role == "confidential" else "Diversity and closeness are for confidential columns.",
    )
    with ui.element("div").classes("grid3"):
        for field in ("top", "bottom", "round") if numeric else ():
            _form(tab, field, column, put)
        if not numeric:
            _joins(tab, column, put)
        for field in ("diversity", "closeness") if role == "confidential" else ():
            _form(tab, field, column, put)
        for field in ("dominance", "spread") if numeric and kind != "date" else ():
            _form(tab, field, column, put)
        if not protected:
            return
        if kind == "ordinal":
            _levels(tab, column, put)
        for field, (label, words) in _WORDS.items():
            options = {"": "as for all columns", **{word: word for word in words}}
            value, change = draft.said(field, name) or "", partial(_change, put, field, name)
            if numeric or (field == "centroids" and kind == "ordinal"):
                ui.select(options, label=label, value=value, on_change=change).props(FIELD)
        for field, label in (
            ("column_weights", "Its share in distances (1: as others)"),
            ("blocks", "Block: one number, grouped together"),
        ):
            precision = 0 if field == "blocks" else None
            change = partial(_change, put, field, name)
            value = draft.said(field, name)
            ui.number(label, value=value, min=0, precision=precision, on_change=change).props(FIELD)
        change = partial(_change, put, "missing_codes", name)
        label, value = "Codes for gaps in it, with commas", draft.said("missing_codes", name)
        ui.input(label, value=value or "", on_change=change).props(FIELD)
        with ui.element("div").classes("checks"):
            for field, label in _LISTS.items():
                if (field != "log" or numeric) and (field != "by_record" or draft.named("unit")):
                    change = partial(_listed, tab, field, name)
                    ui.checkbox(label, value=name in draft.get(field), on_change=change)


def _change(put: Callable[[str, str, Any], None], field: str, name: str, event: Any) -> None:
    value = event.value
    put(field, name, int(value) if isinstance(value, float) and value.is_integer() else value)


def _listed(tab: Tab, field: str, name: str, event: Any) -> None:
    """A column is in a list of the plan, or not."""
    others = [other for other in tab.draft.get(field) if other != name]
    tab.draft.put(field, [*others, name] if event.value else others)
    tab.save_draft()
    tab.check()


def _form(tab: Tab, field: str, column: dict[str, Any], put: Callable[[str, str, Any], None]) -> None:
    """A field with several forms: which one, and its numbers. A date is capped at a date."""
    name = column["name"]
    title, forms = FORMS[field]
    dated = tab.draft.type_of(name) == "date"
    value = tab.draft.said(field, name)
    if dated:
        if field != "round":
            change = partial(_change, put, field, name)
            day = ui.input(title, value=value or "", on_change=change).props(FIELD)
            day.props("type=date stack-label clearable")
        return
    at, numbers = read_form(field, value)

    def choose(event: Any) -> None:
        draw(event.value, [])
        put(field, name, None)

    def draw(at: int, numbers: list[float | None]) -> None:
        holder.clear()
        if at < 0:
            return
        given: list[float | None] = [*numbers, *[None] * len(forms[at].numbers)][: len(forms[at].numbers)]

        def told(place: int, event: Any) -> None:
            given[place] = event.value
            missing = all(x is None for x in given)
            put(field, name, None if missing else write_form(forms[at], given))

        with holder:
            for place, label in enumerate(forms[at].numbers):
                number = ui.number(label, value=given[place], on_change=partial(told, place)).props(FIELD)
                number.props["aria-label"] = f"{title}: {label}"

    with ui.element("div").classes("form"):
        options = {-1: "no", **{j: form.words for j, form in enumerate(forms)}}
        ui.select(options, label=title, value=at, on_change=choose).props(FIELD)
        holder = ui.element("div").classes("numbers")
        draw(at, numbers)


def _joins(tab: Tab, column: dict[str, Any], put: Callable[[str, str, Any], None]) -> None:
    """Levels joined under a new name, and a count below which levels are rare."""
    name, joined = column["name"], dict(tab.draft.said("regroup", column["name"]) or {})

    def change(title: str, members: Any) -> None:
        joined[title] = members
        if not members:
            del joined[title]
        put("regroup", name, dict(joined))

    def join() -> None:
        if new.value and levels.value:
            change(new.value.strip(), tuple(levels.value))
            new.value, levels.value = "", []

    rare = ui.number("Join levels of fewer records than", value=joined.get("rare"), min=1, precision=0)
    rare.on_value_change(lambda e: change("rare", None if e.value is None else int(e.value))).props(FIELD)
    known = column["levels"]
    if known:
        with ui.element("div").classes("form"):
            levels = ui.select(known, label="Levels to join", multiple=True, value=[])
            levels.props(FIELD + " use-chips")
            with ui.element("div").classes("numbers"):
                new = ui.input("Their new name").props(FIELD)
                button("Join", "", join, f"Join levels of {name}", "outline")


def _levels(tab: Tab, column: dict[str, Any], put: Callable[[str, str, Any], None]) -> None:
    """The order of an ordinal column: dragged, or moved by buttons; typed where there are many levels."""
    name, known = column["name"], column["levels"]
    order = [*map(str, tab.draft.said("levels", name) or known)]
    if not known:
        typed = lambda e: put("levels", name, [w.strip() for w in (e.value or "").split(",") if w.strip()])  # noqa: E731
        ui.input("Levels, lowest first, with commas", value=", ".join(order), on_change=typed).props(FIELD)
        return

    def move(row: ui.element, to: int) -> None:
        """Put a level elsewhere. Its buttons keep the keyboard."""
        here = rows.default_slot.children.index(row)
        if 0 <= to < len(order):
            row.move(target_index=to)
            moved(here, to)

    def moved(here: int, to: int) -> None:
        order.insert(to, order.pop(here))
        right.set_visibility(False)
        put("levels", name, [*order])

    def step(row: ui.element, by: int, pressed: ui.button) -> None:
        move(row, rows.default_slot.children.index(row) + by)
        ui.run_javascript(f"getHtmlElement({pressed.id})?.focus()")

    with ui.element("div").classes("form"):
        text = "<p><b>Levels, lowest first</b> <span class='soft'>drag them, or use the arrows</span></p>"
        show(Markup(text))
        with ui.column().classes("levels") as rows:
            for level in order:
                with ui.element("div").classes("level") as row:
                    show(Markup("<span aria-hidden='true'>⠿</span> {}"), level, tag="span")
                    for icon, by, words in (("arrow_upward", -1, "up"), ("arrow_downward", 1, "down")):
                        arrow = button("", icon, lambda: None, f"Move {level} {words}", "flat dense round")
                        arrow.on_click(partial(step, row, by, arrow))
        rows.make_sortable(on_end=lambda event: moved(event.old_index, event.new_index))
        right = button("This order is right", "check", lambda: moved(0, 0), look="outline")
        right.set_visibility(not tab.draft.said("levels", name))
