"""Step 2: k and what speaks for it, the method, single columns, and what lies behind "more"."""

from collections.abc import Callable
from functools import partial
from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.crew import Stopped
from shoal.app.markup import button, card, field, pieces, sentence, show
from shoal.app.steps import WORDS, columns
from shoal.app.tab import Tab
from shoal.grouping.registry import methods
from shoal.measures.measure import shown

ADVICE = (
    "Say how many records an intruder who knows all true values may link correctly. Group sizes from 2 to 50 "
    "are tried on this table; suggested is the one that loses least among those that keep to it."
)


def build(tab: Tab) -> None:
    draft, work = tab.draft, tab.table

    def put(name: str, value: Any) -> None:
        if name in ("k", "prove"):
            setattr(draft, name, value)
        else:
            draft.put(name, value)
        tab.save_draft()
        tab.check()

    names = draft.named("quasi")
    words = f"To be protected: {', '.join(names[:8])}{f' and {len(names) - 8} more' if names[8:] else ''}."
    if not names:
        words = "No column is to be protected yet: give one the role quasi in step 1."
    with ui.element("section").classes("lead"):
        show(Markup("<h2>How safe, and how</h2><p class='soft'>{}</p>"), words)
        with ui.element("div").classes("actions"):
            button("Run", "arrow_forward", lambda: tab.go("run"))
    with ui.element("div").classes("two"):
        with ui.element("section").classes("card"):
            show(Markup("<h3>Group size k</h3>"))

            def change_k(k: int | None) -> None:
                put("k", k)
                explain()

            with ui.element("div").classes("kline"):
                number = field(ui.number, "k", draft.k, change_k, min=1, step=1, precision=0)
                number.props("aria-label=k").classes("knumber")
                for size in (3, 5, 10, 20):
                    button(str(size), "", partial(number.set_value, size), f"Set k to {size}", "flat dense")
            said = ui.element("div")

            def explain() -> None:
                said.clear()
                with said:
                    show(_meaning(draft.k, work.records))

            explain()
        with ui.element("section").classes("card"):
            _method(tab, put)
    _advice(tab, number.set_value)
    columns.build(tab)
    _more(tab, put)


def _advice(tab: Tab, take: Any) -> None:
    """Which k keeps the risk low enough, by trial: what `shoal suggest` says, with its reasons."""
    work = tab.table

    async def advise() -> None:
        with tab.saying():
            plan = tab.draft.plan().toml()
            share = (risk.value or 0) / 100
            try:
                with tab.working("Trying group sizes", tab.office.adviser.stop):
                    order: dict[str, Any] = {"path": work.source, "plan": plan, "risk": share}
                    told = await tab.office.adviser.do("advise", tab.progress, **order)
            except Stopped:
                tab.say("Cancelled: no group size is suggested")
                return
            tab.advice[work.number] = told
            if not holder.is_deleted:
                tell()

    def tell() -> None:
        holder.clear()
        told = tab.advice.get(work.number)
        if told is None:
            return
        reason.set_text(sentence(told["reason"]))
        with holder:
            rows = [
                (run["k"], shown(run["information_loss"], "%"), shown(run["risk_high"], "share"))
                for run in sorted(told["comparison"]["runs"], key=lambda run: run["k"])
            ]
            show(pieces.table(("k", "Lost", "Linked, at most"), rows, "Group sizes tried", "figures-table"))
        chosen.set_visibility(told["k"] is not None)
        chosen.set_text(f"Take k = {told['k']}")

    with card("Which k?", ADVICE), ui.element("div").classes("advice"):
        with ui.element("div"):
            with ui.element("div").classes("kline"):
                label = "Linked correctly, at most %"
                risk = field(ui.number, label, 5, lambda share: None, min=0.1, max=100).classes("risk")
                button("Suggest k", "search", advise, look="outline")
            reason = ui.label()
            chosen = button("", "check", lambda: take(tab.advice[work.number]["k"]), look="outline")
            chosen.set_visibility(False)
        holder = ui.element("div")
    tell()


def _meaning(k: int | None, records: int) -> Markup:
    """What k promises, in plain words."""
    if k is None or k < 1:
        return Markup("<p class='warn'>k is a whole number of at least 1.</p>")
    if k > records:
        words = f"The table has {records:,} records: k cannot be larger than that."
        return Markup("<p class='warn'>{}</p>").format(words)
    if k == 1:
        return Markup("<p class='warn'>k = 1 protects nobody: every record stays alone in its group.</p>")
    return Markup(
        "<p>Every published combination of values is shared by at least <b>{} records</b>. Who knows that "
        "somebody is in a group guesses the right record with a chance of at most <b>{} %</b>.</p>"
        "<p class='soft'>A larger k is safer and loses more.</p>"
    ).format(k, f"{100 / k:.3g}")


def _method(tab: Tab, put: Any) -> None:
    infos, draft = methods(), tab.draft

    def choose(key: str) -> None:
        put("method", key)
        put("parameters", {})
        tell()

    def tell() -> None:
        info = infos[draft.get("method")]
        about.clear()
        with about:
            show(pieces.method(info))
            for name, default in info.parameters.items():
                _parameter(tab, name, default)

    show(Markup("<h3>Method</h3>"))
    names = {key: f"{info.title} ({key})" for key, info in infos.items()}
    order = ["auto", "optimise", *(key for key in names if key not in ("auto", "optimise"))]
    options = {key: names[key] for key in order}
    chosen = field(ui.select, "Method", draft.get("method"), choose, options=options, with_input=True)
    chosen.props("aria-label=Method").classes("wide")
    about = ui.element("div")
    tell()
    listed = show(pieces.methods([infos[key] for key in order]))
    listed.on(
        "click",
        lambda event: chosen.set_value(event.args) if event.args in infos else None,
        js_handler="(e) => { const b = e.target.closest('[data-key]'); if (b) emit(b.dataset.key); }",
    )


def _parameter(tab: Tab, name: str, default: Any) -> None:
    """A parameter of the method, by the kind of its default."""

    def put(value: Any) -> None:
        given = {**tab.draft.get("parameters"), name: value}
        tab.draft.put("parameters", {key: x for key, x in given.items() if x is not None})
        tab.save_draft()

    value = tab.draft.get("parameters").get(name, default)
    if isinstance(default, bool):
        ui.checkbox(name, value=value, on_change=lambda event: put(event.value))
    elif isinstance(default, (int, float)):
        field(ui.number, name, value, put, precision=0 if isinstance(default, int) else None)


def _more(tab: Tab, put: Any) -> None:
    draft = tab.draft
    names = [column["name"] for column in tab.table.facts["columns"]]
    places = dict(enumerate(names))

    def several(label: str, chosen: list[str], change: Callable[[list[str]], None]) -> None:
        value, tell = [names.index(name) for name in chosen], lambda some: change([names[j] for j in some])
        field(ui.select, label, value, tell, options=places, multiple=True).props("use-chips")

    def give(role: str, chosen: list[str]) -> None:
        draft.give(role, chosen)
        tab.save_draft()
        tab.check()

    def check(name: str, event: Any) -> None:
        put(name, event.value if name != "preserve" else "totals" if event.value else None)

    with ui.expansion("More: strata, units, weights, centroids, gaps, order of rows").classes("more"):
        with ui.element("div").classes("grid3"):
            for role, label in WORDS["several"].items():
                several(label, draft.named(role), partial(give, role))
            weight = next((names.index(name) for name in draft.named("weight")), None)
            weigh = lambda place: give("weight", [] if place is None else [names[place]])  # noqa: E731
            field(ui.select, "Survey weight", weight, weigh, options=places, clearable=True)
            for name, said in WORDS["choices"].items():
                value = draft.get(name)
                value = value if isinstance(value, str) else ""
                field(ui.select, said["label"], value, partial(put, name), options=said["words"])
            several("Kept columns that an intruder may know", draft.get("known") or [], partial(put, "known"))
            for name, label in WORDS["typed"].items():
                typed = lambda words, name=name: put(name, (words or "").strip())  # noqa: E731
                field(ui.input, label, draft.fields.get(name, ""), typed)
            for name, said in WORDS["limits"].items():
                value, tell = draft.get(name), partial(put, name)
                field(ui.number, value=value, tell=tell, **said).props("clearable")
        with ui.element("div").classes("checks"):
            for name, label in WORDS["checks"].items():
                value = draft.prove if name == "prove" else bool(draft.get(name))
                ui.checkbox(label, value=value, on_change=partial(check, name))
