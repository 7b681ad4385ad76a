"""`shoal measure`: what a release lost and risks, whatever made it."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.app import AsJson, app
from shoal.cli.console import guarded, interruptible, print_table, say, watching
from shoal.cli.options import Tried, Wanted, listed, planned
from shoal.cli.places import source_of
from shoal.cli.protect import TERMINAL, PublicReport, Report, refuse_reports
from shoal.errors import InputError
from shoal.io.json_text import json_text


@app.command()
@guarded
@planned(
    k="1",
    only=(
        *("columns", "types", "levels", "roles", "weight", "known", "strata", "unit", "missing_codes"),
        *("missing", "order", "seed"),
    ),
    why="a measure looks at two tables; what made the second is the plan's to say (--plan)",
)
def measure(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table as it was.")],
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="The table as it is published.")],
    wanted: Wanted,
    from_file: Tried,
    key: Annotated[
        str | None, typer.Option("--key", metavar="COL", help="Rows with the same value belong together.")
    ] = None,
    confidential: Annotated[
        list[str] | None, typer.Option(help="A kept column that must not be learnt; commas, or again.")
    ] = None,
    formula: Annotated[str | None, typer.Option(help='A model fitted on both tables, "y ~ a".')] = None,
    report: Report = None,
    public_report: PublicReport = None,
    at_risk: Annotated[
        int, typer.Option("--at-risk", metavar="N", help="List the N records most at risk; keep it inside.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure what a release lost and what it risks, whatever made it.

    Rows are matched by --key, by the --plan of the release, or because rows keep their places (--order keep);
    else only measures of whole tables are given.
    """
    from shoal.measurement import measure_plan
    from shoal.measures.measure import shown
    from shoal.report import render

    refuse_reports([report, public_report], original, release)
    if at_risk < 0:
        raise InputError(f"--at-risk is a number of records, not {at_risk}")
    matched = from_file or wanted.order == "keep"
    if not (matched or key) and (report or public_report or at_risk):
        raise InputError("reports and --at-risk compare records: match them by --key, --plan or --order keep")
    hidden = listed(confidential, "--confidential") or None
    with (
        source_of(original) as source,
        source_of(release) as made,
        watching(doing="measures") as progress,
    ):
        found = interruptible(
            lambda: measure_plan(wanted, source, made, key, hidden, formula, matched, progress)
        )
    rows = [("lost", m.title, shown(m.overall, m.unit)) for m in found.utility.values()]
    rows += [("at risk", m.title, shown(m.overall, m.unit)) for m in found.risk.values()]
    print_table(("", "measure", "value"), rows, stderr=True)
    most, notes = found.at_risk(at_risk) if at_risk else [], list(found.notes)
    if most and (sought := most[0]["sought_among"]) < len(found.rows):
        among = f"a sample of {sought:,} of {len(found.rows):,} records, drawn by chance"
        notes.append(f"records at risk were sought among {among}: others may be as much at risk")
    for note in notes:
        say(f"note: {note}")
    if most and not as_json:
        words = [(str(r["row"]), str(r["released_row"]), f"{100 * r['chance']:.3g} %") for r in most]
        print_table(("row of the original", "row of the release", "linked with chance"), words)
    for path, edition in ((report, "internal"), (public_report, "public")):
        if path == TERMINAL:
            print(render(found.model(edition), "text"))
        elif path is not None:
            with watching(doing=f"{edition} report"):
                found.report(path, edition)
            say(f"{edition} report: {path}")
    if as_json:
        print(json_text({**found.facts(), "notes": notes, **({"at_risk": most} if at_risk else {})}))
