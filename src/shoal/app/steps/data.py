"""Step 1: a table comes in, and a person says what its columns are."""

import re
from functools import partial
from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app import saved
from shoal.app.markup import FIELD, button, card, pieces, sentence, show
from shoal.app.steps import WORDS
from shoal.app.tab import Tab
from shoal.app.uploads import ENDINGS
from shoal.app.work import Work
from shoal.errors import ShoalError
from shoal.io.formats import fixed
from shoal.words import ROLES, TYPES

TYPED = "Types are text, integer and number; places count from 1."
SESSIONS = 10  # saved ones that are listed, the newest


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
    if tab.work.path.suffix == ".xlsx":
        _header(tab, tab.work)
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
    if tab.session.waiting:
        names = dict.fromkeys(entry.name for entry in tab.session.waiting)
        words = "Drop again, so that the saved session goes on: {}. Each file is known by its fingerprint."
        show(Markup("<p class='banner'>" + words + "</p>"), ", ".join(names))
    show(pieces.drop(tab.upload_limit, ",".join((*ENDINGS, ".toml"))))
    with ui.element("div").classes("actions"):
        button("Start with the demo survey", "dataset", lambda: _demo(tab), look="outline")
        show(pieces.names_row())
    _layout(tab)
    _sessions(tab)


def _sessions(tab: Tab) -> None:
    """The saved sessions of this user: reopen one, or delete it."""
    found = saved.names()[:SESSIONS]
    if not found:
        return
    words = "Settings and plans, without a record of a table: "
    words += "drop the table again, and its runs are made again."
    with card("Saved sessions", words).classes("sessions"):
        for name in found:
            with ui.element("div").classes("actions") as row:
                when = f"{name[:4]}-{name[4:6]}-{name[6:8]} {name[9:11]}:{name[11:13]}"
                try:
                    tables = saved.load(name)
                    runs = sum(len(table.runs) for table in tables)
                    names = ", ".join(table.name + table.part for table in tables[:3])
                    said = f"{names}{', ...' if tables[3:] else ''}; {runs} run{'' if runs == 1 else 's'}"
                    label = f"Reopen the session of {when}"
                    button("Reopen", "history", partial(_reopen, tab, name), label, "outline dense")
                except ShoalError as error:
                    said = sentence(error)
                label = f"Delete the session of {when}"
                button("Delete", "delete", partial(_delete, row, name), label, "flat dense")
                show(Markup("<b>{}</b> <span class='soft'>{}</span>"), when, said, tag="span")


def _reopen(tab: Tab, name: str) -> None:
    with tab.saying():
        tab.session.waiting = saved.load(name)
        tab.session.saved_as = name
        tab.go("data")


def _delete(row: ui.element, name: str) -> None:
    saved.delete(name)
    row.delete()


async def _demo(tab: Tab) -> None:
    with tab.saying():
        with tab.working("Making a survey of 5,000 businesses"):
            work = await tab.office.take_in(tab.session, tab.office.place(".csv"), "survey.csv", "demo")
        tab.open_work(work.number, "data")


def _header(tab: Tab, work: Work) -> None:
    """Another row of a sheet may have the names of its columns."""
    found = re.search(r"!(\d+)$", work.part)

    async def again() -> None:
        with tab.saying():
            with tab.working(f"Reading {work.name}"):
                made = await tab.office.read_again(tab.session, work, int(row.value or 1))
            tab.open_work(made.number, "data")

    with ui.element("div").classes("actions"):
        row = ui.number("Header row", value=int(found[1]) if found else 1, min=1, max=1 << 20, precision=0)
        row.props(FIELD)
        button("Read it again", "refresh", again, look="outline")


def _layout(tab: Tab) -> None:
    """The layout of fixed widths, as it was dropped, or where it is pasted before the file is dropped."""
    words = f"Fixed widths ({', '.join(fixed.ENDINGS)}): the layout"
    with ui.expansion(words, value=bool(tab.session.layout)).classes("more"):
        given = ui.textarea(
            "Layout",
            value=tab.session.layout,
            placeholder="name,start,width,type,decimals\nage,1,3,integer,\nwage,4,8,number,2",
            on_change=lambda event: setattr(tab.session, "layout", str(event.value or "")),
        )
        given.props("outlined autogrow").classes("wide")
        show(Markup("<p class='soft'>{}</p>"), "Drop it with its file, or paste it here first. " + TYPED)


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
        role = ui.select(list(WORDS["roles"]), label="Role", value="other").props("outlined dense")
        button("Give them this role", "", give, look="outline")


def _columns(tab: Tab, facts: dict[str, Any]) -> None:
    """Every column with what it holds; its role and type are changed on the spot."""
    roles = [(role, f"{role}: {words}") for role, words in WORDS["roles"].items()]
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
    tab.check()
