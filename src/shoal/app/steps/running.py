"""Step 3: runs, one after another, each with its progress and an end to it."""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import sentence, show, text
from shoal.app.office import STAGES, Run
from shoal.app.tab import Tab
from shoal.errors import InputError, ShoalError
from shoal.measures.measure import shown


def build(tab: Tab) -> None:
    work, draft = tab.work, tab.draft
    assert work is not None
    with ui.element("section").classes("lead"):
        quasi = len(draft.named("quasi"))
        show(
            Markup(
                "<h2>Run</h2><p class='soft'>k = {}, method {}, {} of {} columns to be protected in {} "
                "records.</p>"
            ).format(draft.k or "?", draft.method, quasi, len(draft.roles), f"{work.records:,}")
        )
        with ui.element("div").classes("actions"):
            more = ui.input("Also with k =", placeholder="3, 10, 20").props("outlined dense").classes("alsok")
            ui.button("Start", icon="play_arrow", on_click=lambda: _start(tab, more.value)).props(
                "unelevated no-caps"
            )
    rows = ui.element("div").classes("runs")
    made: dict[int, tuple[Any, ui.element]] = {}  # run -> what its row shows, and the row
    watched: dict[int, tuple[Run, Any, Any]] = {}
    with rows:
        nothing = text("p", "No run yet. Each one is kept: you can go back to any of them.", "soft")

    def listed() -> None:
        """Rows are made anew only if they show something else, lest a click on one be lost."""
        nothing.set_visibility(not work.runs)
        for run in work.runs:
            state = (run.over, run.facts is None, run.error)
            known, row = made.get(run.number, (None, None))
            if row is None:
                with rows:
                    row = ui.element("article")
                row.props["data-run"] = run.number
                row.move(target_index=0)
            row.classes(replace=f"run {run.stage}")
            if known != state:
                made[run.number] = state, row
                row.clear()
                with row:
                    _row(tab, run, watched)

    def tick() -> None:
        for run, bar, said in watched.values():
            if not run.over:
                bar.props["value"] = run.fraction or 0
                bar.props["indeterminate"] = run.fraction is None and run.stage != "waiting"
                said.set_text(_state(run))

    listed()
    tab.changed, tab.tick = listed, tick


def _start(tab: Tab, further: str | None) -> None:
    """Queue the run, and the same with other k."""
    assert tab.work is not None
    try:
        sizes = [tab.draft.k, *_sizes(further or "")]
        tab.draft.plan()
        for size in dict.fromkeys(sizes):
            draft = tab.draft.copy()
            draft.k = size
            if size is not None and size > tab.work.records:
                raise InputError(
                    f"k={size} needs at least {size:,} records, but the table has {tab.work.records:,}: "
                    "lower k"
                )
            tab.office.submit(tab.session, tab.work, draft)
    except ShoalError as error:
        tab.say(error, bad=True)
        return
    tab.announce("", False)


def _sizes(words: str) -> list[int]:
    """Further k, separated by commas or blanks."""
    found = [word for word in re.split(r"[,;\s]+", words) if word]
    for word in found:
        if not word.isdecimal() or int(word) < 1:
            raise InputError(f"{word!r} is no k: write whole numbers such as 3, 10, 20")
    return [int(word) for word in found]


def _row(tab: Tab, run: Run, watched: dict[int, tuple[Run, Any, Any]]) -> None:
    show(Markup("<div><b>{}</b><span class='soft'>{}</span></div>").format(run.title, run.settings))
    if run.over and not run.error:
        show(_outcome(run))
    elif run.error:
        text("p", sentence(run.error), "warn")
    else:
        with ui.element("div").classes("progress"):
            bar = ui.linear_progress(run.fraction or 0, show_value=False, size="8px").props("rounded")
            bar.props["indeterminate"] = run.fraction is None and run.stage != "waiting"
            bar.props["aria-label"] = f"Progress of {run.title}"
            said = ui.label(_state(run)).classes("soft")
            watched[run.number] = run, bar, said
    with ui.element("div").classes("actions"):
        if not run.over:
            words = "Stop proving" if run.facts is not None else "Cancel"
            ui.button(words, icon="close", on_click=lambda: tab.office.cancel(tab.session, run)).props(
                "flat no-caps"
            ).props["aria-label"] = f"{words}: {run.title}"
        if run.facts is not None:
            ui.button("Look", icon="insights", on_click=lambda: _look(tab, run)).props(
                "outline no-caps"
            ).props["aria-label"] = f"Look at {run.title}"


def _look(tab: Tab, run: Run) -> None:
    tab.back_to(run)
    tab.go("look")


def _outcome(run: Run) -> Markup:
    if run.facts is None:
        return Markup("<p class='soft'>Cancelled after {} s. Nothing was changed.</p>").format(
            f"{run.elapsed:.0f}"
        )
    outcome = run.facts["outcome"]
    return Markup("<p><b>{}</b> lost, {} groups of {} or more <span class='soft'>in {} s</span></p>").format(
        shown(outcome["information_loss"], "%"),
        f"{outcome['groups']:,}",
        outcome["smallest_group"],
        f"{outcome['seconds']:.1f}",
    )


def _state(run: Run) -> str:
    """What a run does just now, how long it has, and about how long it will."""
    words = STAGES[run.stage]
    if run.stage == "waiting":
        return words
    if run.fraction is not None:
        words += f", {100 * run.fraction:.0f} %"
    words += f"; {run.elapsed:.0f} s so far"
    if run.left is not None:
        words += f", about {max(run.left, 1):.0f} s left"
    elif run.expected is not None and run.stage in ("reading", "grouping"):
        words += f"; the last one by this method took {run.expected:.0f} s"
    return words
