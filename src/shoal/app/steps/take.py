"""Step 5: the release, the reports, the plan, and the same in Python and on the command line."""

from functools import partial
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import button, card, field, pieces, show
from shoal.app.office import LAYOUT
from shoal.app.tab import Tab
from shoal.app.uploads import ending_of
from shoal.app.work import Run
from shoal.errors import ShoalError
from shoal.io.files import FORMATS
from shoal.io.formats import fixed
from shoal.plan.text import as_command, as_python


def build(tab: Tab) -> None:
    work, run = tab.table, tab.finished_run()
    endings = {ending: f"{kind.name} ({ending})" for ending, kind in FORMATS.items() if kind.writable}
    endings[".db"] = "SQLite (.db)"
    if work.path.suffix in fixed.ENDINGS:
        endings[work.path.suffix] = f"Fixed widths, by its layout ({work.path.suffix})"
    ending = ".xlsx" if ".xlsx#" in work.name else ending_of(work.name) or ""
    chosen = ending if ending in endings else ".csv"
    with ui.element("section").classes("lead"):
        show(Markup("<h2>Take away</h2><p class='soft'>{}.</p>"), run.named)
        runs = {other.number: other.named for other in work.finished}
        if len(runs) > 1:
            with ui.element("div").classes("actions"):
                field(ui.select, "Run", run.number, partial(_choose, tab), options=runs).classes("besides")
    with ui.element("div").classes("two"):
        words = "Read back and checked before you get it: every published combination is counted."
        with card("The release", words), ui.element("div").classes("actions"):
            kind = ui.select(endings, label="Format", value=chosen).props("outlined dense").classes("format")
            button("Release", "download", lambda: _release(tab, run, kind.value), "Download the release")
        words = "The internal one tells everything. "
        words += "The public one has no seed, risk or value of the original."
        with card("The reports", words), ui.element("div").classes("actions"):
            for edition in ("internal", "public"):
                label = f"Download the {edition} report"
                make = partial(_report, tab, run, edition)
                button(f"{edition.capitalize()} report", "description", make, label, "outline")
    target = f"{work.stem}.protected{chosen}"
    plan = run.plan.toml({column["name"]: column["reason"] for column in work.facts["columns"]})
    for title, words in (
        ("The same in Python", as_python(run.plan, work.address, target)),
        ("The same on the command line", as_command(run.plan, work.address, target)),
        ("The plan", plan),
    ):
        with ui.element("section").classes("card"):
            show(Markup("<h3>{}</h3>"), title)
            show(pieces.code(words, title))
            if title == "The plan":
                download = partial(ui.download.content, plan, "plan.toml")
                button("plan.toml", "download", download, "Download the plan", "outline")


def _choose(tab: Tab, number: int) -> None:
    if (run := tab.table.run(number)) is not None:
        tab.back_to(run)
        tab.go("take")


async def _release(tab: Tab, run: Run, ending: str) -> None:
    layout = tab.table.path.with_suffix(LAYOUT)
    if ending in fixed.ENDINGS:  # `write` looks for it beside the file
        (run.folder / f"release{LAYOUT}").write_bytes(layout.read_bytes())
    await _make(tab, run, "write", f"release{ending}", f"protected{ending}")


async def _report(tab: Tab, run: Run, edition: str) -> None:
    """The internal one compares the runs on the same columns: of each method, k and rules the last."""
    like = [one.results["run"] for one in tab.table.finished if one.plan.columns == run.plan.columns]
    runs = {(one["method"], one["k"], one["requirements"]): one for one in like}
    name = f"{edition}.html"
    await _make(tab, run, "report", name, name, edition=edition, runs=[*runs.values()])


async def _make(tab: Tab, run: Run, task: str, file: str, called: str, **order: Any) -> None:
    """Let the desk write a file, then hand it to the browser under a harmless name."""
    work = tab.table
    target = run.folder / file
    target.unlink(missing_ok=True)
    place = f"sqlite:///{quote(str(target))}#release" if target.suffix == ".db" else str(target)
    try:
        with tab.working("Writing and checking" if task == "write" else "Writing the report"):
            await tab.office.desk.do(task, folder=str(run.folder), target=place, **order)
    except ShoalError as error:
        tab.say(str(error).replace(str(target), called).replace(str(work.path), work.name), bad=True)
        return
    name = f"{work.stem}.{called}"
    ui.download.file(target, name)
    tab.say(f"Your browser has put {name} where downloads go")
