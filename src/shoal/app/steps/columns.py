"""Step 2, column by column: everyday steps, what each group must hold, and how a column is grouped."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import FIELD, button, card, field, show
from shoal.app.steps import WORDS
from shoal.app.tab import Tab
from shoal.words import CENTROIDS, NUMBERS, SCALINGS

Put = Callable[[str, Any], None]


class Form(NamedTuple):
    """One way to say a field: what a plan writes before its numbers, the words for it, and its numbers."""

    before: str
    words: str
    numbers: tuple[str, ...]
    between: str = ","


FORMS = {
    name: (said["title"], tuple(Form(*form) for form in said["forms"]))
    for name, said in WORDS["forms"].items()
}
_WORDS = {"scaling": SCALINGS, "centroids": CENTROIDS}
_TITLES = {**{name: title for name, (title, _) in FORMS.items()}, **WORDS["columns"]}


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

    def put(column: str, name: str, value: Any) -> None:
        draft.say(name, column, value)
        tab.save_draft()
        tell()

    def tell() -> None:
        """Everything that is said, each with a way to take it back; and what is wrong with it."""
        tab.check()
        listed.clear()
        with listed:
            for name, said in draft.columns.items():
                for column, value in said.items():
                    words = f"{column}: {_TITLES[name].lower()} {_plainly(value)}"
                    off = partial(forget, column, name)
                    ui.chip(words, removable=True, on_value_change=off, color="#e6f2f5")

    def forget(column: str, name: str) -> None:
        put(column, name, None)
        choose(chosen.value)

    def choose(place: int) -> None:
        tab.edited = place
        holder.clear()
        with holder:
            _fields(tab, columns[names[place]], partial(put, names[place]))

    words = "Tails, levels, rounding, what each group must hold, and how a column is grouped."
    with card("Column by column", words).classes("by-column"):
        place = tab.edited if tab.edited in names else 0
        chosen = field(ui.select, "Column", place, choose, options=names, with_input=True).classes("besides")
        holder = ui.element("div")
        listed = ui.element("div").classes("chips")
    choose(place)
    tell()


def _plainly(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{title}: {_plainly(members)}" for title, members in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _fields(tab: Tab, column: dict[str, Any], put: Put) -> None:
    """The fields that a column of this role and type can have, and why others are not there."""
    draft, name = tab.draft, column["name"]
    role, kind = draft.roles[name], draft.type_of(name)
    numeric, dated = kind in NUMBERS, kind == "date"
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
        if not numeric:
            _joins(tab, column, put)
        for tail in ("top", "bottom") if dated else ():  # a date is capped at a date
            made = field(ui.input, FORMS[tail][0], draft.said(tail, name) or "", partial(put, tail))
            made.props("type=date stack-label clearable")
        for form, there in (
            *((form, numeric and not dated) for form in ("top", "bottom", "round")),
            *((form, role == "confidential") for form in ("diversity", "closeness")),
            *((form, numeric and not dated) for form in ("dominance", "spread")),
        ):
            if there:
                _form(form, draft.said(form, name), partial(put, form))
        if role != "quasi":
            return
        if kind == "ordinal":
            _levels(tab, column, put)
        for word, words in _WORDS.items():
            if numeric or (word == "centroids" and kind == "ordinal"):
                options, said = {"": "as for all columns", **dict(zip(words, words))}, draft.said(word, name)
                field(ui.select, _TITLES[word], said or "", partial(put, word), options=options)
        weight, block = draft.said("column_weights", name), draft.said("blocks", name)
        field(
            ui.number, "Its share in distances (1: as others)", weight, partial(put, "column_weights"), min=0
        )
        label = "Block: one number, grouped together"
        field(ui.number, label, block, partial(put, "blocks"), min=0, precision=0)
        codes = draft.said("missing_codes", name) or ""
        field(ui.input, "Codes for gaps in it, with commas", codes, partial(put, "missing_codes"))
        with ui.element("div").classes("checks"):
            for listed, label in WORDS["lists"].items():
                if (listed != "log" or numeric) and (listed != "by_record" or draft.named("unit")):
                    change = partial(_listed, tab, listed, name)
                    ui.checkbox(label, value=name in draft.get(listed), on_change=change)


def _listed(tab: Tab, listed: str, name: str, event: Any) -> None:
    """A column is in a list of the plan, or not."""
    others = [other for other in tab.draft.get(listed) if other != name]
    tab.draft.put(listed, [*others, name] if event.value else others)
    tab.save_draft()
    tab.check()


def _form(name: str, value: Any, put: Callable[[Any], None]) -> None:
    """A field with several forms: which one, and its numbers."""
    title, forms = FORMS[name]
    at, numbers = read_form(name, value)

    def choose(at: int) -> None:
        draw(at, [])
        put(None)

    def draw(at: int, numbers: list[float | None]) -> None:
        holder.clear()
        if at < 0:
            return
        given: list[float | None] = [*numbers, *[None] * len(forms[at].numbers)][: len(forms[at].numbers)]

        def told(place: int, number: float | None) -> None:
            given[place] = number
            put(None if given == [None] * len(given) else write_form(forms[at], given))

        with holder:
            for place, label in enumerate(forms[at].numbers):
                number = field(ui.number, label, given[place], partial(told, place))
                number.props["aria-label"] = f"{title}: {label}"

    with ui.element("div").classes("form"):
        field(ui.select, title, at, choose, options={-1: "no", **{j: f.words for j, f in enumerate(forms)}})
        holder = ui.element("div").classes("numbers")
        draw(at, numbers)


def _joins(tab: Tab, column: dict[str, Any], put: Put) -> None:
    """Levels joined under a new name, and a count below which levels are rare."""
    name, joined = column["name"], dict(tab.draft.said("regroup", column["name"]) or {})

    def change(title: str, members: Any) -> None:
        joined[title] = members
        if not members:
            del joined[title]
        put("regroup", dict(joined))

    def join() -> None:
        if new.value and levels.value:
            change(new.value.strip(), tuple(levels.value))
            new.value, levels.value = "", []

    label, rare = "Join levels of fewer records than", partial(change, "rare")
    field(ui.number, label, joined.get("rare"), rare, min=1, precision=0)
    if column["levels"]:
        with ui.element("div").classes("form"):
            levels = ui.select(column["levels"], label="Levels to join", multiple=True, value=[])
            levels.props(FIELD + " use-chips")
            with ui.element("div").classes("numbers"):
                new = ui.input("Their new name").props(FIELD)
                button("Join", "", join, f"Join levels of {name}", "outline")


def _levels(tab: Tab, column: dict[str, Any], put: Put) -> None:
    """The order of an ordinal column: dragged, or moved by buttons; typed where there are many levels."""
    said, known = tab.draft.said("levels", column["name"]), column["levels"]
    order = [*map(str, said or known)]
    if not known:
        typed = lambda words: put("levels", [w.strip() for w in (words or "").split(",") if w.strip()])  # noqa: E731
        field(ui.input, "Levels, lowest first, with commas", ", ".join(order), typed)
        return

    def moved(here: int, to: int) -> None:
        order.insert(to, order.pop(here))
        right.set_visibility(False)
        put("levels", [*order])

    def step(row: ui.element, by: int, pressed: ui.button) -> None:
        """Put a level elsewhere. Its button keeps the keyboard."""
        here = rows.default_slot.children.index(row)
        if 0 <= here + by < len(order):
            row.move(target_index=here + by)
            moved(here, here + by)
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
        right.set_visibility(not said)
