"""Step 1: a table comes in, and a person says what its columns are."""

from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import pieces, show
from shoal.app.office import DATABASES
from shoal.app.tab import Tab
from shoal.errors import ShoalError
from shoal.io.files import FORMATS
from shoal.words import ROLES, TYPES

MEANINGS = {
    "quasi": "grouped on and replaced",
    "identifier": "left out",
    "confidential": "kept, and watched",
    "stratum": "kept; groups stay within it",
    "weight": "kept; weighs the means",
    "unit": "left out; k counts whom it names",
    "other": "kept as it is",
}


def build(tab: Tab) -> None:
    if tab.work is None:
        _welcome(tab)
        return
    facts = tab.work.facts
    with ui.element("section").classes("lead"):
        show(
            Markup(
                "<h2>{}</h2><p class='soft'>{} records, {} columns. The roles are guesses: check them.</p>"
            ).format(tab.work.name, f"{facts['records']:,}", len(facts["columns"]))
        )
        with ui.element("div").classes("actions"):
            ui.button("Settings", icon="arrow_forward", on_click=lambda: tab.go("settings")).props(
                "unelevated no-caps"
            )
    _columns(tab, facts)
    show(Markup("<h3>The first rows</h3>"))
    names = [column["name"] for column in facts["columns"]]
    show(pieces.table(names, facts["preview"], "The first rows of the table", "rows"))
    with ui.element("section").classes("again"):
        show(Markup("<h3>Another table</h3>"))
        _door(tab)


def _welcome(tab: Tab) -> None:
    show(pieces.welcome())
    _door(tab)
    show(pieces.way())


def _door(tab: Tab) -> None:
    """Where a file is dropped, and the demo beside it."""
    endings = ",".join((*FORMATS, *DATABASES))
    show(pieces.drop(tab.upload_limit, endings))
    ui.button("Start with the demo survey", icon="dataset", on_click=lambda: _demo(tab)).props(
        "outline no-caps"
    )


async def _demo(tab: Tab) -> None:
    tab.say("Making a survey of 5,000 businesses")
    try:
        work = await tab.office.take_in(tab.session, tab.office.place(".csv"), "survey.csv", "demo")
    except ShoalError as error:
        tab.say(error, bad=True)
        return
    tab.open_work(work.number, "data")


def _columns(tab: Tab, facts: dict[str, Any]) -> None:
    """Every column with what it holds; its role and type are changed on the spot."""
    roles = [(role, f"{role}: {MEANINGS[role]}") for role in sorted(ROLES, key=list(MEANINGS).index)]
    rows = []
    for column in facts["columns"]:
        kind, name = column["kind"], column["name"]
        types = [("", f"{kind} (stored)"), *((word, word) for word in TYPES if word != kind)]
        rows.append((column, tab.draft.roles[name], types, tab.draft.types[name] or ""))
    whole = show(pieces.columns(rows, roles))
    whole.on(
        "change",
        lambda event: _change(tab, event.args),
        js_handler="(e) => { if (e.target.dataset.what === 'role') "
        "e.target.closest('tr').dataset.role = e.target.value; "
        "emit([Number(e.target.dataset.column), e.target.dataset.what, e.target.value]); }",
    )


def _change(tab: Tab, args: list[Any]) -> None:
    """A role or a type was chosen."""
    place, what, value = args
    columns = tab.work.facts["columns"] if tab.work is not None else []
    if not (isinstance(place, int) and 0 <= place < len(columns)):
        return
    name = columns[place]["name"]
    if what == "role" and value in ROLES:
        tab.draft.roles[name] = value
    elif what == "type" and value in ("", *TYPES):
        tab.draft.types[name] = value or None
    tab.save_draft()
    try:
        tab.draft.plan()
        tab.announce("", False)
    except ShoalError as error:
        tab.say(error, bad=True)
