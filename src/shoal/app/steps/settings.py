"""Step 2: k and what speaks for it, the method, single columns, and what lies behind "more"."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app.crew import Stopped
from shoal.app.markup import FIELD, button, card, pieces, sentence, show
from shoal.app.steps import columns
from shoal.app.tab import Tab
from shoal.grouping.registry import methods
from shoal.measures.measure import shown

#: Fields with a word each: what they are called, and what their words mean.
CHOICES: dict[str, tuple[str, dict[str, str]]] = {
    "centroids": (
        "Centroid: what a group publishes",
        {
            "": "by type: mean, median or mode",
            "mean": "mean",
            "median": "median",
            "trimmed": "trimmed mean",
            "mode": "mode",
        },
    ),
    "missing": (
        "Missing values",
        {
            "group": "a gap is a value of its own",
            "impute": "fill gaps first",
            "drop": "leave out records with a gap",
            "error": "refuse a table with gaps",
        },
    ),
    "scaling": (
        "Scaling for grouping",
        {
            "standard": "standard deviations",
            "robust": "quartiles (robust)",
            "range": "the range",
            "rank": "ranks",
            "none": "as they are",
        },
    ),
    "zeros": ("Zeros", {"value": "a number like others", "group": "grouped apart, as gaps are"}),
    "thin": ("Cells of too few records", {"widen": "widen their group", "gap": "publish a gap"}),
    "order": ("Rows in the file", {"shuffle": "shuffled: a place tells nothing", "keep": "in their order"}),
}
ROLES_CHOSEN = {"stratum": "Strata: groups never cross them", "unit": "Unit: whom k counts (dropped)"}
TYPED = {"missing_codes": "Codes for gaps, with commas", "pseudonyms": "Key file: units get new numbers"}
CHECKS = {
    "merge_small_strata": "Merge strata that are short of k with the most similar",
    "preserve": "Keep the totals of whole numbers",
    "decimals": "Round to as many decimals as the original shows",
    "per_column": "Group each column on its own: k then holds for each column, not for the record",
    "prove": "Prove how little any release could lose (up to 50,000 records)",
}
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

    with ui.element("section").classes("lead"):
        show(Markup("<h2>How safe, and how</h2><p class='soft'>{}</p>"), _protected(tab))
        with ui.element("div").classes("actions"):
            button("Run", "arrow_forward", lambda: tab.go("run"))
    with ui.element("div").classes("two"):
        with ui.element("section").classes("card"):
            show(Markup("<h3>Group size k</h3>"))

            def change_k(event: Any) -> None:
                put("k", None if event.value is None else int(event.value))
                explain()

            with ui.element("div").classes("kline"):
                number = ui.number("k", value=draft.k, min=1, step=1, precision=0, on_change=change_k)
                number.props(FIELD + " aria-label=k").classes("knumber")
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
                    told = await tab.office.advise(work, plan, share, tab.progress)
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
                risk = ui.number("Linked correctly, at most %", value=5, min=0.1, max=100)
                risk.props(FIELD).classes("risk")
                button("Suggest k", "search", advise, look="outline")
            reason = ui.label()
            chosen = button("", "check", lambda: take(tab.advice[work.number]["k"]), look="outline")
            chosen.set_visibility(False)
        holder = ui.element("div")
    tell()


def _protected(tab: Tab) -> str:
    names = tab.draft.named("quasi")
    if not names:
        return "No column is to be protected yet: give one the role quasi in step 1."
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"To be protected: {shown}."


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
    chosen = ui.select(
        {key: names[key] for key in order},
        label="Method",
        value=draft.get("method"),
        with_input=True,
        on_change=lambda event: choose(event.value),
    )
    chosen.props(FIELD + " aria-label=Method").classes("wide")
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
        ui.checkbox(name, value=value, on_change=lambda e: put(e.value))
    elif isinstance(default, int):
        whole = lambda e: put(None if e.value is None else int(e.value))  # noqa: E731
        ui.number(name, value=value, precision=0, on_change=whole).props(FIELD)
    elif isinstance(default, float):
        ui.number(name, value=value, on_change=lambda e: put(e.value)).props(FIELD)


def _more(tab: Tab, put: Any) -> None:
    draft, work = tab.draft, tab.table
    names = [column["name"] for column in work.facts["columns"]]
    places = dict(enumerate(names))

    def number(label: str, field: str, empty: float | None, **limits: Any) -> None:
        whole = limits.get("precision") == 0
        change = lambda e: put(field, empty if e.value is None else int(e.value) if whole else e.value)  # noqa: E731
        ui.number(label, value=draft.get(field), on_change=change, **limits).props(FIELD + " clearable")

    def check(field: str, event: Any) -> None:
        put(field, event.value if field != "preserve" else "totals" if event.value else None)

    def several(label: str, chosen: Sequence[str], change: Any) -> None:
        value = [names.index(name) for name in chosen]
        told = lambda e: change([names[j] for j in e.value])  # noqa: E731
        ui.select(places, label=label, multiple=True, value=value, on_change=told).props(FIELD + " use-chips")

    def give(role: str, chosen: list[str]) -> None:
        draft.give(role, chosen)
        tab.save_draft()
        tab.check()

    with ui.expansion("More: strata, units, weights, centroids, gaps, order of rows").classes("more"):
        with ui.element("div").classes("grid3"):
            for role, label in ROLES_CHOSEN.items():
                several(label, draft.named(role), partial(give, role))
            weight = next((names.index(name) for name in draft.named("weight")), None)
            weigh = lambda e: give("weight", [] if e.value is None else [names[e.value]])  # noqa: E731
            chosen = ui.select(places, label="Survey weight", clearable=True, value=weight, on_change=weigh)
            chosen.props(FIELD)
            for field, (label, options) in CHOICES.items():
                change = lambda e, field=field: put(field, e.value or None)  # noqa: E731
                value = draft.get(field)
                value = value if isinstance(value, str) else ""
                ui.select(options, label=label, value=value, on_change=change).props(FIELD)
            know = lambda chosen: put("known", chosen or None)  # noqa: E731
            several("Kept columns that an intruder may know", draft.get("known") or [], know)
            for field, label in TYPED.items():
                change = lambda e, field=field: put(field, (e.value or "").strip())  # noqa: E731
                ui.input(label, value=draft.fields.get(field, ""), on_change=change).props(FIELD)
            label = "Records that make up each published cell, at least"
            number(label, "contributors", 1, min=1, precision=0)
            label = "The largest share of weight that one has in it"
            number(label, "contributor_share", 1.0, min=0.01, max=1)
            number("Seed: the same gives the same release", "seed", 0, min=0, precision=0)
            number("Time limit, seconds (none: repeatable)", "time_limit", None, min=0.1)
        with ui.element("div").classes("checks"):
            for field, label in CHECKS.items():
                value = draft.prove if field == "prove" else bool(draft.get(field))
                ui.checkbox(label, value=value, on_change=partial(check, field))
