"""Step 1: a table comes in, and a person says what its columns are."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import bars, joined, select, show, table
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
    show(table(names, facts["preview"], "The first rows of the table", "rows"))
    with ui.element("section").classes("again"):
        show(Markup("<h3>Another table</h3>"))
        _door(tab)


def _welcome(tab: Tab) -> None:
    show(
        Markup(
            "<section class='hero'><h2>Publish a table in which nobody stands out</h2>"
            "<p>Similar records are put into groups of at least <i>k</i>, and each is published as its "
            "group's mean. You see what is lost, what an intruder could still find out, and a proof of how "
            "little any release could lose. Everything stays on this machine.</p></section>"
        )
    )
    _door(tab)
    show(
        Markup(
            "<ol class='way'><li><b>Data</b>What the columns are is guessed, with reasons; you decide.</li>"
            "<li><b>Settings</b>How many records share a value, and the method.</li>"
            "<li><b>Run</b>As many as you like; each is kept, and can be cancelled.</li>"
            "<li><b>Look</b>Loss, risk and proof; two runs side by side.</li>"
            "<li><b>Take away</b>Release, reports, plan, and the same in Python.</li></ol>"
        )
    )


def _door(tab: Tab) -> None:
    """Where a file is dropped, and the demo beside it."""
    endings = ",".join((*FORMATS, *DATABASES))
    show(
        Markup(
            "<label class='drop' data-limit='{}'><input type='file' accept='{}' aria-describedby='kinds'>"
            "<b>Drop a file here, or choose one</b><span id='kinds' class='soft'>CSV, TSV, Parquet, Arrow, "
            "Stata, SPSS, SAS, Excel or SQLite, up to {} MB</span><progress max='100' value='0' hidden "
            "aria-label='Upload'></progress><span class='state' role='status'></span>"
            "<button type='button' hidden>Cancel</button></label>"
        ).format(tab.upload_limit, endings, f"{tab.upload_limit:,}")
    )
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
    for j, column in enumerate(facts["columns"]):
        name, role = column["name"], tab.draft.roles[column["name"]]
        kind = tab.draft.types[name] or ""
        stored = f"{column['kind']} (stored)"
        types = [("", stored), *((word, word) for word in TYPES if word != column["kind"])]
        gaps = (
            Markup("<span class='gaps'>{} gaps</span>").format(f"{column['gaps']:,}")
            if column["gaps"]
            else ""
        )
        rows.append(
            Markup(
                "<tr data-role='{}'><th scope='row'>{}</th><td>{}<span class='why'>{}</span></td><td>{}"
                "<span class='why'>{}</span></td><td>{}<span class='why'>{} different {}</span></td>"
                "<td>{}</td></tr>"
            ).format(
                role,
                name,
                select(f"Role of {name}", roles, role, column=j, what="role"),
                column["reason"],
                select(f"Type of {name}", types, kind, column=j, what="type"),
                column["stored"],
                column["range"],
                f"{column['distinct']:,}",
                gaps,
                bars(column["counts"], column["classes"], f"Histogram of {name}"),
            )
        )
    whole = show(
        Markup(
            "<div class='scroll'><table class='columns'><caption class='unseen'>The columns</caption><thead>"
            "<tr><th scope='col'>Column</th><th scope='col'>Role</th><th scope='col'>Type</th>"
            "<th scope='col'>Values</th><th scope='col'>Distribution</th></tr></thead>"
            "<tbody>{}</tbody></table></div>"
        ).format(joined(rows))
    )
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
