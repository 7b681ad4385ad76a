"""Step 1: a table comes in, and a person says what its columns are."""

from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import button, pieces, show
from shoal.app.tab import Tab
from shoal.app.uploads import ENDINGS
from shoal.errors import ShoalError
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
        show(pieces.welcome())
        _door(tab)
        show(pieces.way())
        return
    facts = tab.work.facts
    with ui.element("section").classes("lead"):
        words = f"{facts['records']:,} records, {len(facts['columns'])} columns."
        text = "<h2>{}</h2><p class='soft'>{} The roles are guesses: check them.</p>"
        show(Markup(text), tab.work.name, words)
        with ui.element("div").classes("actions"):
            button("Settings", "arrow_forward", lambda: tab.go("settings"))
    _bulk(tab, facts)
    _columns(tab, facts)
    show(Markup("<h3>The first rows</h3>"))
    names = [column["name"] for column in facts["columns"]]
    show(pieces.table(names, facts["preview"], "The first rows of the table", "rows"))
    with ui.element("section").classes("again"):
        show(Markup("<h3>Another table</h3>"))
        _door(tab)


def _door(tab: Tab) -> None:
    """Where a file is dropped, and the demo beside it."""
    show(pieces.drop(tab.upload_limit, ",".join((*ENDINGS, ".toml"))))
    button("Start with the demo survey", "dataset", lambda: _demo(tab), look="outline")


async def _demo(tab: Tab) -> None:
    tab.say("Making a survey of 5,000 businesses")
    try:
        work = await tab.office.take_in(tab.session, tab.office.place(".csv"), "survey.csv", "demo")
    except ShoalError as error:
        tab.say(error, bad=True)
        return
    tab.open_work(work.number, "data")


def _bulk(tab: Tab, facts: dict[str, Any]) -> None:
    """One role for several columns at once."""
    names = dict(enumerate(column["name"] for column in facts["columns"]))

    def give() -> None:
        for place in chosen.value or ():
            tab.draft.decide(names[place], role.value)
        tab.save_draft()
        tab.refresh()

    with ui.expansion("One role for several columns").classes("more"), ui.element("div").classes("grid3"):
        chosen = ui.select(names, label="Columns", multiple=True, value=[]).props("outlined dense use-chips")
        role = ui.select(list(MEANINGS), label="Role", value="other").props("outlined dense")
        button("Give them this role", "", give, look="outline")


def _columns(tab: Tab, facts: dict[str, Any]) -> None:
    """Every column with what it holds; its role and type are changed on the spot."""
    roles = [(role, f"{role}: {MEANINGS[role]}") for role in sorted(ROLES, key=list(MEANINGS).index)]
    roles.append(("", "kept, if nothing speaks against it"))
    rows = []
    for column in facts["columns"]:
        kind, name = column["kind"], column["name"]
        types = [("", f"{kind} (stored)"), *((word, word) for word in TYPES if word != kind)]
        role = "" if name in tab.draft.undecided else tab.draft.roles[name]
        rows.append((column, role, types, tab.draft.types[name] or ""))
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
    if what == "role" and value in ("", *ROLES):
        tab.draft.decide(name, value)
    elif what == "type" and value in ("", *TYPES):
        tab.draft.types[name] = value or None
    tab.save_draft()
    try:
        tab.draft.plan()
        tab.announce("", False)
    except ShoalError as error:
        tab.say(error, bad=True)
