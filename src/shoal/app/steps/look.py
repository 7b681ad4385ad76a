"""Step 4: what was lost, what is at risk, and how near it is to the best possible; two runs side by side."""

from typing import Any

from markupsafe import Markup
from nicegui import ui

from shoal.app import charts
from shoal.app.markup import button, card, field, pieces, sentence, show
from shoal.app.tab import Tab
from shoal.app.work import Run
from shoal.measures.measure import shown
from shoal.report import figures

RISKS = ("k", "linkage", "interval_sd", "fixed", "l_diversity", "t_closeness", "proximity", "dominance")


def build(tab: Tab) -> None:
    shown_run = tab.finished_run()
    seen = _state(tab)

    def changed() -> None:
        nonlocal seen
        if _state(tab) != seen:
            seen = _state(tab)
            tab.refresh()

    with ui.element("section").classes("lead"):
        promise = sentence(shown_run.results["outcome"]["promise"])
        show(Markup("<h2>{}</h2><p class='soft'>{}</p>"), shown_run.title, promise)
        with ui.element("div").classes("actions"):
            _beside(tab)
            button("Take away", "arrow_forward", lambda: tab.go("take"))
    _tradeoff(tab)
    runs = [shown_run] + ([tab.beside] if tab.beside is not None else [])
    with ui.element("div").classes("side by-side" if len(runs) > 1 else "side"):
        for run in runs:
            with ui.element("section").classes("panel") as panel:
                panel.props["aria-label"] = run.title
                _panel(tab, run, len(runs) > 1)
    tab.changed = changed


def _state(tab: Tab) -> tuple[Any, ...]:
    """What this step shows: looked at again only if it changed."""
    return [(run.number, run.bound) for run in tab.table.finished], tab.shown, tab.beside


def _beside(tab: Tab) -> None:
    runs = [run for run in tab.table.finished if run is not tab.shown]
    if not runs:
        return

    def choose(number: int | None) -> None:
        tab.beside = tab.table.run(number or 0)
        tab.refresh()

    others = {0: "alone", **{run.number: run.named for run in runs}}
    value = tab.beside.number if tab.beside is not None else 0
    field(ui.select, "Side by side with", value, choose, options=others).classes("besides")


def _tradeoff(tab: Tab) -> None:
    """The risk-utility map of all runs, and the same as a list for the keyboard."""
    work, number_shown = tab.table, tab.finished_run().number
    points = [
        {
            "number": run.number,
            "title": run.named,
            "k": run.plan.k,
            "loss": round(run.results["outcome"]["information_loss"], 4),
            "risk": round(100 * run.results["risk"]["after"]["linkage"]["overall"], 4),
            "bound": (run.bound or {}).get("information_loss"),
        }
        for run in work.finished
    ]

    def back(number: int) -> None:
        if (run := work.run(number)) is not None and run is not tab.shown:
            tab.back_to(run)
            tab.refresh()
            words = "its settings are in the form again, and no other run is lost"
            tab.say(f"Back at {run.title.lower()}: {words}")

    def clicked(event: Any) -> None:
        if event.series_type == "scatter" and 0 <= event.data_index < len(points):
            back(points[event.data_index]["number"])

    with ui.element("section").classes("card tradeoff"):
        with ui.element("div"):
            words = "Each run is a point; left and low is good. Click one to go back to it."
            show(Markup("<h3>Loss against risk</h3><p class='soft'>{}</p>"), words)
            words = "; ".join(f"{p['title']} loses {p['loss']} % and risks {p['risk']} %" for p in points)
            charts.draw(
                charts.risk_utility(points, number_shown), f"Loss against risk: {words}", 280, clicked
            )
        with ui.element("div").classes("runlist"):
            for point in reversed(points):
                entry = ui.element("button").on("click", lambda number=point["number"]: back(number))
                entry.props["type"] = "button"
                entry.props["data-run"] = point["number"]
                if point["number"] == number_shown:
                    entry.props["aria-current"] = "true"
                with entry:
                    said = f"{shown(point['loss'], '%')} lost, {shown(point['risk'] / 100, 'share')} linked"
                    show(Markup("<b>{}</b><span>{}</span>"), point["title"], said, tag="span")


def _panel(tab: Tab, run: Run, named: bool) -> None:
    facts, outcome = run.results, run.results["outcome"]
    before, after = facts["risk"]["before"], facts["risk"]["after"]
    if named:
        show(Markup("<h2>{}</h2><p class='soft'>{}</p>"), run.title, run.settings)
    show(_figures(run))
    with ui.element("div").classes("cards"):
        with card("Information lost", "Against the least that any release with this k must lose."):
            show(_loss(run))
        with card("Before and after", "The share of records in each class, one drawn over the other."):
            _distribution(tab, facts)
        if "correlations" in facts["utility"]:
            detail = facts["utility"]["correlations"]["detail"]
            with card("Change of correlations", "Release minus original; 0 would be no change."):
                charts.draw(charts.correlations(detail), figures.correlation_change(detail).alt, 300)
        if facts["map"]:
            share = f"{facts['map']['records']:,} of {facts['map']['of']:,} records"
            words = "in the plane in which they differ most, each tied to what is published for it."
            with card("Map of groups", f"{share} {words}"):
                charts.draw(charts.group_map(facts["map"]), figures.record_map(facts["map"]).alt, 320)
        counted = outcome["counted"]
        with card("Group sizes", f"How many groups have how many {counted}."):
            sizes = outcome["sizes"], counted
            charts.draw(charts.group_sizes(*sizes), figures.group_sizes(*sizes).alt)
        with card("Risk before and after", "Somebody knows true values and takes the nearest record."):
            known = [risk["linkage"]["detail"]["by_known_columns"] for risk in (before, after)]
            links = known[0], known[1], run.plan.k
            charts.draw(charts.linkage(*links), figures.linkage(*links).alt)
            show(_risks(before, after))
        with card(
            "Largest changes", "The cells that moved furthest, in standard deviations of their column."
        ):
            show(_changes(facts["changes"]))
        notes = dict.fromkeys([*outcome["notes"], *facts["notes"], *facts["audit"]])
        if notes:
            with card("Worth knowing", "What a careful colleague would point out."):
                listed = Markup("").join(Markup("<li>{}</li>").format(sentence(note)) for note in notes)
                show(Markup("<ul class='notes'>{}</ul>"), listed)


def _figures(run: Run) -> Markup:
    """The few numbers that decide."""
    outcome, risk = run.results["outcome"], run.results["risk"]
    before, after = (shown(risk[when]["linkage"]["overall"], "share") for when in ("before", "after"))
    alone = f"on all columns; {outcome['unique_on_categories']:,} on those with few values"
    figures = [
        ("information lost", shown(outcome["information_loss"], "%"), _above(run)),
        ("smallest group", f"{outcome['smallest_group']:,}", f"{outcome['counted']}; k = {outcome['k']}"),
        ("groups", f"{outcome['groups']:,}", f"of {outcome['records']:,} records"),
        ("linked correctly", after, f"{before} in the original"),
        ("rows of their own", f"{outcome['unique_rows']:,}", alone),
        *(("groups that fail", str(one["failing_groups"]), one["said"]) for one in outcome["requirements"]),
    ]
    return pieces.figures(figures)


def _above(run: Run) -> str:
    if run.bound is None:
        return "proof under way" if not run.over else "without a proof"
    if "information_loss" not in run.bound:
        return "no bound for such tables"
    return f"proven: at least {shown(run.bound['information_loss'], '%')}"


def _loss(run: Run) -> Markup:
    """Loss and bound as two bars on one scale, in the whole and by column."""
    loss = run.results["outcome"]["information_loss"]
    rows = [("this release", loss, "own")]
    words = ""
    if run.bound is not None and "information_loss" in run.bound:
        least = run.bound["information_loss"]
        rows.append(("proven least", least, "least"))
        words = f"No release with k = {run.plan.k} can lose less than {shown(least, '%')}"
        gap = run.bound["gap"]
        words += f"; this one lies {shown(100 * gap, '%')} above." if gap and gap < 1e6 else "."
    elif run.bound is not None:
        words = sentence(run.bound["why"])
    elif not run.over:
        words = "The least possible loss is being proven."
    columns = run.results["utility"].get("information_loss", {}).get("columns", {})
    rows += [(name, value, "column") for name, value in columns.items()]
    top = max([value for _, value, _ in rows] + [1e-9])
    drawn = [(kind, name, shown(value, "%"), f"{60 * value / top:.2f}") for name, value, kind in rows]
    return pieces.losses(words, drawn)


def _distribution(tab: Tab, facts: dict[str, Any]) -> None:
    shapes = facts["distributions"]
    names = {j: str(shape["column"]) for j, shape in enumerate(shapes)}
    place = tab.column if tab.column in names else 0

    def choose(j: int) -> None:
        tab.column = j
        if tab.beside is not None:
            tab.refresh()  # the same column on both sides
            return
        draw(j)

    def draw(j: int) -> None:
        holder.clear()
        with holder:
            charts.draw(charts.distribution(shapes[j]), figures.distribution(j, shapes[j]).alt)

    field(ui.select, "Column", place, choose, options=names).classes("wide")
    holder = ui.element("div")
    draw(place)


def _risks(before: dict[str, Any], after: dict[str, Any]) -> Markup:
    rows = [
        (
            Markup("<span title='{}'>{}</span>").format(after[key]["meaning"], after[key]["title"]),
            shown(before[key]["overall"], before[key]["unit"]) if key in before else "",
            shown(after[key]["overall"], after[key]["unit"]),
        )
        for key in RISKS
        if key in after
    ]
    return pieces.table(("Measure", "Original", "Release"), rows, "Risk before and after", "figures-table")


def _changes(changes: list[dict[str, Any]]) -> Markup:
    if not changes:
        return Markup("<p class='soft'>No number changed.</p>")
    rows = [(f"{c['record']:,}", c["column"], c["before"], c["after"], f"{c['sd']:+.2f}") for c in changes]
    head = ("Record", "Column", "Original", "Release", "Change, sd")
    return pieces.table(head, rows, "Largest changes", "changes")
