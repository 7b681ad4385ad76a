"""Step 3: runs, one after another, each with its progress and an end to it."""

import re
from dataclasses import replace
from functools import partial
from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.markup import button, sentence, show
from shoal.app.steps import WORDS
from shoal.app.tab import Tab
from shoal.app.work import Run
from shoal.errors import InputError, ShoalError, too_few
from shoal.measures.measure import shown


def build(tab: Tab) -> None:
    work, draft = tab.table, tab.draft
    with ui.element("section").classes("lead"):
        quasi = len(draft.named("quasi"))
        columns = f"{quasi} of {len(draft.roles)} columns to be protected in {work.records:,} records"
        words = f"k = {draft.k or '?'}, method {draft.get('method')}, {columns}."
        show(Markup("<h2>Run</h2><p class='soft'>{}</p>"), words)
        with ui.element("div").classes("actions"):
            more = ui.input("Also with k =", placeholder="3, 10, 20", on_change=lambda: judge())
            more.props("outlined dense").classes("alsok")
            begin = button("Start", "play_arrow", lambda: start())
    why = ui.label().classes("warn").props("id=why")

    asked = 0  # how often the form was judged: only the last answer counts

    def tell(wrong: str, able: bool) -> None:
        why.set_text(sentence(wrong) if wrong else "")
        why.set_visibility(bool(wrong))
        begin.set_enabled(able)

    async def judge() -> None:
        """Say why no run can start, before anybody tries: by the form at once, then by the table.

        Until the table has answered the button stays as it is: a click on one that is just being disabled
        would be lost.
        """
        nonlocal asked
        asked += 1
        mine, wrong = asked, tab.wrong()
        try:
            sizes = [draft.k or 0, *_sizes(more.value or "")]
            if max(sizes) > work.records:
                raise too_few(max(sizes), work.records)
        except ShoalError as error:
            wrong = wrong or str(error)
        if not wrong:
            plan = draft.plan()
            plans = [replace(plan, k=size).toml() for size in {min(sizes), max(sizes)}]
            wrong = await tab.office.foresee(tab.session, work, plans)
        if mine == asked and not begin.is_deleted:
            tell(wrong, not wrong)

    def start() -> None:
        """Queue the run, and the same with other k."""
        with tab.saying():
            for size in dict.fromkeys([draft.k, *_sizes(more.value or "")]):
                wanted = draft.copy()
                wanted.k = size
                tab.office.submit(tab.session, work, wanted)
            tab.announce("", False)

    ui.timer(0, judge, once=True)
    rows = ui.element("div").classes("runs")
    made: dict[int, Row] = {}
    with rows:
        text = "<p class='soft'>No run yet. Each one is kept: you can go back to any of them.</p>"
        nothing = show(Markup(text))

    def listed() -> None:
        nothing.set_visibility(not work.runs)
        for run in work.runs:
            if run.number not in made:
                with rows:
                    made[run.number] = Row(tab, run)
            made[run.number].show()

    def tick() -> None:
        for row in made.values():
            row.tick()

    listed()
    tab.changed, tab.tick = listed, tick


def _sizes(words: str) -> list[int]:
    """Further k, separated by commas or blanks."""
    sizes = [word for word in re.split(r"[,;\s]+", words) if word]
    for word in sizes:
        if not word.isdecimal() or int(word) < 1:
            raise InputError(f"{word!r} is no k: write whole numbers such as 3, 10, 20")
    return [int(word) for word in sizes]


class Row:
    """One run on the page. Its buttons are made once: a click on one that was replaced would be lost."""

    def __init__(self, tab: Tab, run: Run):
        self.tab, self.run = tab, run
        self.state: Any = None  # what the row shows
        self.bar: Any = None
        self.row = ui.element("article")
        self.row.props["data-run"] = run.number
        self.row.move(target_index=0)
        with self.row:
            show(Markup("<div><b>{}</b><span class='soft'>{}</span></div>"), run.title, run.settings)
            self.body = ui.element("div")
            with ui.element("div").classes("actions"):
                cancel = partial(tab.office.cancel, tab.session, run)
                self.stop = button("Cancel", "close", cancel, look="flat")
                self.look = button("Look", "insights", self._look, f"Look at {run.title}", "outline")

    def _look(self) -> None:
        self.tab.back_to(self.run)
        self.tab.go("look")

    def show(self) -> None:
        """Show how far the run is. Only what has changed is touched."""
        run = self.run
        self.row.classes(replace=f"run {run.stage}")
        state = (run.over, run.facts is None, run.error)
        if state == self.state:
            return
        self.state, self.bar = state, None
        words = "Cancel" if run.facts is None else "Stop proving"
        self.stop.set_text(words)
        self.stop.props["aria-label"] = f"{words}: {run.title}"
        self.stop.set_visibility(not run.over)
        self.look.set_visibility(run.facts is not None)
        self.body.clear()
        with self.body:
            if run.error:
                show(Markup("<p class='warn'>{}</p>"), sentence(run.error))
            elif run.over:
                show(_outcome(run))
            else:
                with ui.element("div").classes("progress"):
                    self.bar = ui.linear_progress(0, show_value=False, size="8px").props("rounded")
                    self.bar.props["aria-label"] = f"Progress of {run.title}"
                    self.said = ui.label().classes("soft")
                self.tick()

    def tick(self) -> None:
        """Move the bar."""
        run = self.run
        if self.bar is not None and not run.over:
            self.bar.props["value"] = run.fraction or 0
            self.bar.props["indeterminate"] = run.fraction is None and run.stage != "waiting"
            self.said.set_text(_state(run))


def _outcome(run: Run) -> Markup:
    if run.facts is None:
        words = f"Cancelled after {run.elapsed:.0f} s. Nothing was changed."
        return Markup("<p class='soft'>{}</p>").format(words)
    outcome = run.facts["outcome"]
    return Markup("<p><b>{}</b> lost, {} <span class='soft'>{}</span></p>").format(
        shown(outcome["information_loss"], "%"),
        f"{outcome['groups']:,} groups of {outcome['smallest_group']} or more",
        f"in {outcome['seconds']:.1f} s",
    )


def _state(run: Run) -> str:
    """What a run does just now, how long it has, and about how long it will."""
    words = WORDS["stages"][run.stage]
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
