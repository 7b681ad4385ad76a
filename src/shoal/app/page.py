"""The page itself: its frame, the way through the five steps, and what one tab shows."""

import json
import time
from collections.abc import Callable
from typing import Any

from fastapi import Request
from markupsafe import Markup
from nicegui import app as nicegui_app
from nicegui import ui

from shoal.app.markup import STATIC, button, pieces, show
from shoal.app.office import Office
from shoal.app.steps import data, look, running, settings, take
from shoal.app.tab import STEPS, Plan, Tab
from shoal.app.work import Work

LOOK_AGAIN = 0.3  # seconds between two looks at what changed

BUILDERS: dict[str, Callable[[Tab], None]] = {
    step: module.build for step, module in zip(STEPS, (data, settings, running, look, take))
}


def add_page(office: Office, upload_limit: int) -> None:
    """Register the page and its own style and script, all served from here."""
    nicegui_app.add_static_files("/shoal", STATIC, max_cache_age=0)
    # A list that fades away asks for the keyboard when it has: what was typed into the next field was lost.
    ui.select.default_props("transition-duration=0")

    @ui.page("/", title="shoal")
    def page(request: Request) -> None:
        session = office.sessions[request.state.session]
        here = request.headers["x-forwarded-prefix"] + "/shoal"
        ui.add_head_html(
            f'<link rel="stylesheet" href="{here}/page.css"><script src="{here}/page.js" defer></script>'
        )
        ui.colors(primary="#0e7490", secondary="#334155", accent="#0e7490", negative="#b42318")
        View(Tab(office, session, upload_limit)).build()


class View:
    """One tab's elements around the step that it shows."""

    def __init__(self, tab: Tab):
        self.tab = tab
        tab.refresh, tab.keep = self.refresh, self.keep
        self.seen = -1
        self.tables: tuple[list[int], Work | None] = ([], None)
        self.client = ui.context.client
        self.saved: dict[str, Plan] = {}  # what the browser has

    def build(self) -> None:
        tab = self.tab
        show(pieces.lost())
        with ui.element("div").classes("sheet"):
            with ui.element("header").classes("top"):
                show(pieces.brand())
                with ui.element("nav").classes("steps") as nav:
                    nav.props["aria-label"] = "Steps"
                    self.buttons = self._steps()
                self.place = ui.element("div").classes("place")
            with ui.element("div").classes("status"):  # as high without words: what is clicked must not move
                self.hint = ui.label().classes("soft hint")
                with ui.element("div").classes("banner wait") as self.waiting:
                    self.words = ui.label()
                    self.bar = ui.linear_progress(0, show_value=False, size="8px").props("rounded")
                    self.bar.props["aria-label"] = "Progress"
                    self.stop = button("Cancel", "close", self.cancel, look="flat dense")
                self.said = ui.element("div").classes("said")
                self.said.props["role"] = "status"
                self.said.props["aria-live"] = "polite"
            self.main = ui.element("main").props("id=main tabindex=-1")
        tab.announce = self.announce
        self.show_wait()
        self.refresh()
        ui.timer(LOOK_AGAIN, self.look_again)
        ui.on("shoal-uploaded", lambda event: self.uploaded(event.args))
        ui.on("shoal-plan", lambda event: self.tab.follow(str(event.args.get("text", ""))))
        tab.session.tabs[self.client.id] = tab
        self.client.on_delete(lambda: tab.session.tabs.pop(self.client.id, None))
        self.client.on_connect(lambda: tab.come(True))
        self.client.on_disconnect(lambda: tab.come(False))

    def refresh(self) -> None:
        """Build the shown step anew."""
        self.tab.tick = None
        self.seen = self.tab.session.changes
        self._navigation()
        self.main.clear()
        with self.main:
            BUILDERS[self.tab.step](self.tab)
        self.keep()

    def keep(self) -> None:
        """Hand the browser every plan that it does not have yet. It can then do without the server."""
        plans = self.tab.plans()
        if plans != self.saved:
            new = {key: plan for key, plan in plans.items() if self.saved.get(key) != plan}
            self.client.run_javascript(f"shoalKeep({_js(list(plans))}, {_js(new)})")
            self.saved = plans

    def _steps(self) -> dict[str, ui.element]:
        """A button for each step. They are made once: a click on one that was replaced would be lost."""
        buttons = {}
        for number, (step, words) in enumerate(STEPS.items(), 1):
            made = ui.element("button").on("click", lambda step=step: self.chosen(step))
            made.props["type"] = "button"
            made.props["data-step"] = step
            with made:
                show(Markup("<b aria-hidden='true'>{}</b>{}"), number, words, tag="span")
            buttons[step] = made
        return buttons

    def chosen(self, step: str) -> None:
        """Show another step. The one that is shown stays as it is: what is typed into it would be lost."""
        if step != self.tab.step:
            self.tab.go(step)

    def _navigation(self) -> None:
        tab = self.tab
        for step, made in self.buttons.items():
            for name, value, wanted in (
                ("aria-current", "step", step == tab.step),
                ("disabled", True, not tab.open(step)),
                ("title", tab.closed(), not tab.open(step)),
            ):
                if wanted:
                    made.props[name] = value
                else:
                    made.props.pop(name, None)
            made.update()
        self.hint.set_text(tab.closed())
        self.hint.set_visibility(bool(tab.closed()))
        tables = [work.number for work in tab.session.works], tab.work
        if tables == self.tables:
            return
        self.tables = tables
        self.place.clear()
        if tab.work is None:
            return
        with self.place:
            if len(tab.session.works) > 1:
                names = {work.number: f"{work.name} ({work.records:,} records)" for work in tab.session.works}
                chosen = ui.select(names, value=tab.work.number, on_change=lambda e: tab.open_work(e.value))
                chosen.props("dense outlined options-dense").props["aria-label"] = "The table in this tab"
            else:
                show(Markup("<span class='chip'>{}</span>"), tab.work.name)
            label = "Save the session: settings and plans, no record of a table"
            button("Save", "bookmark_add", self.save, label, "flat dense")

    def announce(self, sentence: str, bad: bool) -> None:
        """One sentence above the step; the next action takes it away."""
        self.said.clear()
        if sentence:
            kind, role = ("bad", "alert") if bad else ("good", "note")
            with self.said:
                show(Markup("<div class='banner {}' role='{}'>{}</div>"), kind, role, sentence)

    def uploaded(self, args: dict) -> None:
        """The browser says that a file is here, or why not."""
        if "work" in args:
            self.tab.open_work(args["work"], "data")
        elif "layout" in args:
            self.tab.go("data")
            self.tab.say("The layout is here: now drop the file of fixed widths")
        else:
            self.tab.say(str(args.get("sentence", "")), bad=True)

    def look_again(self) -> None:
        """Has anything changed, here or in another tab of this browser?"""
        tab = self.tab
        if self.seen != tab.session.changes:
            self.seen = tab.session.changes
            self._navigation()
            if tab.changed is not None:
                tab.changed()
        if tab.tick is not None:
            tab.tick()
        self.show_wait()

    def show_wait(self) -> None:
        """What is under way, for how long, and how far it is."""
        wait = self.tab.wait
        self.waiting.set_visibility(wait is not None)
        if wait is not None:
            far = "" if wait.fraction is None else f"{100 * wait.fraction:.0f} %, "
            self.words.set_text(f"{wait.words}: {far}{time.monotonic() - wait.began:.0f} s so far")
            self.bar.props["value"] = wait.fraction or 0
            self.bar.props["indeterminate"] = wait.fraction is None
            self.stop.set_visibility(wait.stop is not None)

    async def cancel(self) -> None:
        if self.tab.wait is not None and self.tab.wait.stop is not None:
            await self.tab.wait.stop()

    async def save(self) -> None:
        tab = self.tab
        with tab.saying():
            with tab.working("Saving the session"):
                path = await tab.office.save(tab.session)
            what = "settings and the plan of each run, and no record of a table"
            after = "after a restart, choose it in step 1 and drop the table again"
            tab.say(f"Saved to {path}, which only you can read: {what}; {after}")


def _js(value: Any) -> str:
    """Texts as a literal of JavaScript that can end no script."""
    return json.dumps(value).replace("<", "\\u003c")
