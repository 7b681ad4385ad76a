"""`shoal protect`: protect a table and say what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import large
from shoal.cli.app import AsJson, app
from shoal.cli.bound import BoundTime, facts
from shoal.cli.console import guarded, interruptible, say, show_outcome, watching
from shoal.cli.guesses import show_guesses, with_guesses
from shoal.cli.light import light_arrow, without_scipy
from shoal.cli.options import Tried, Wanted, listed, planned
from shoal.cli.places import source_and_target
from shoal.errors import InputError, MachineError, ShoalError, too_few
from shoal.io.databases.address import shown
from shoal.io.json_text import json_text

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.frame.frame import Frame
    from shoal.plan import Plan
    from shoal.release import Release

TERMINAL = Path("-")
Report = Annotated[
    Path | None, typer.Option(help="Write the internal report there: .html, .json, .txt; - prints it.")
]
PublicReport = Annotated[
    Path | None, typer.Option(help="Write the public report there, without seed and risks.")
]


@app.command()
@guarded
@planned()
def protect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="IN", help="The table: a file, a folder of Parquet files, a database's URL, - for stdin."
        ),
    ],
    wanted: Wanted,
    from_file: Tried,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="Default: NAME.protected.EXT beside IN; - for stdout."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let a database's table, or a folder of a release, be replaced.")
    ] = False,
    safe_cells: Annotated[
        bool,
        typer.Option(
            "--safe-cells", help="An apostrophe before texts that a spreadsheet would run (CSV, TSV)."
        ),
    ] = False,
    bound: Annotated[
        bool, typer.Option("--bound", help="Prove how little any release with this k could lose.")
    ] = False,
    bound_time: BoundTime = None,
    price: Annotated[
        bool, typer.Option("--price", help="Tell the loss without each requirement too.")
    ] = False,
    report: Report = None,
    public_report: PublicReport = None,
    formula: Annotated[
        str | None, typer.Option(help='A model that the report fits on both tables, "y ~ a + log(b)".')
    ] = None,
    confidential: Annotated[
        list[str] | None, typer.Option(help="A kept column that the report watches; repeat it.")
    ] = None,
    sums: Annotated[
        list[str] | None, typer.Option("--sum", help='A sum the report audits, "total = a + b"; repeat it.')
    ] = None,
    accept_guesses: Annotated[
        bool,
        typer.Option("--accept-guesses", help="Without -c or --plan: protect as `shoal inspect` guesses."),
    ] = False,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A kept column that names folders of OUT (year=2020); default: as IN has them.",
        ),
    ] = None,
    engine: large.Engine = "auto",
    master: large.Master = None,
    as_json: AsJson = False,
) -> None:
    """Protect a table and say what was lost."""
    where = large.engine_for(engine, file, master)
    without_scipy()
    if where == "memory":
        light_arrow()
    output = output or ("-" if file == "-" else None)
    named = from_file or wanted.columns is not None
    if accept_guesses and named:
        raise InputError("--accept-guesses has no effect: -c or the plan says what to protect; leave it out")
    if bound_time is not None and not bound:
        raise InputError("--bound-time has no effect without --bound: add it, or leave the time out")
    editions = {"internal": report, "public": public_report}
    hidden = listed(confidential, "--confidential")
    options: dict[str, Any] = {"formula": formula, "confidential": hidden or None, "sums": sums or ()}
    proof: dict[str, Any] = {}
    notes: list[str] = []
    unproven: list[str] = []
    failure: ShoalError | None = None

    def prepared(frame: Callable[[], Frame], *taken: str) -> Plan:
        """The plan to carry out; what would fail after the work is refused before it."""
        refuse_reports(editions.values(), *taken)
        if any(options.values()):
            refuse_questions(frame(), options, any(editions.values()))
        plan = wanted if named else guessed(wanted, frame(), accept_guesses)
        if bound or report:
            unproven.extend(unbounded(plan, large.no_large_bound(where, file, plan) if bound else None))
        return plan

    def finish(release: Release) -> None:
        """What was asked for beside the release, which is finished whatever fails now."""
        nonlocal proof, failure
        try:
            if bound and not unproven:
                seconds = 60.0 if bound_time is None else bound_time
                proof, options["bound"] = searched(release, seconds, notes)
            show_outcome(release.outcome, target, proof, notes)
            if price:
                proof |= show_price(release, notes)
            for edition, path in write_reports(release, editions, options):
                say(f"{edition} report: {path}")
        except Exception as error:
            failure = after_the_release(error, shown(target))

    if where == "memory":
        from shoal.io.source import frame_of
        from shoal.pipeline import run

        if partition_by:
            raise InputError(
                "--partition-by makes folders of Parquet files: add --engine disk, or leave it out"
            )
        with source_and_target(file, output, replace) as (source, place):
            target = output or place
            if safe_cells and not Path(place).name.lower().endswith(large.TEXTS):
                raise InputError(
                    "--safe-cells has no effect here: it is for CSV and TSV, which spreadsheets run"
                )
            read = cache(lambda: frame_of(source))
            plan, frame = prepared(read, source, place), read()
            if price:
                from shoal.comparison import refuse_price

                refuse_price(plan, frame)
            with watching() as progress:
                release = interruptible(lambda: run(plan, frame, progress, strict=True))
                notes += release.write(place, replace=replace, safe_cells=safe_cells)
            finish(release)
        outcome = release.outcome
    else:
        if safe_cells:
            raise InputError(
                f"--safe-cells is not for --engine {where}: leave it out, or use --engine memory"
            )
        plan = prepared(cache(lambda: large.head_of(file)), file, output or file)
        by = listed(partition_by, "--partition-by") or None
        target = large.large_target(file, output)
        more = finish if bound or price or any(editions.values()) else None
        outcome = large.protect_large(where, plan, file, target, replace, master, by, more)
        if more is None:
            show_outcome(outcome, target)
    if as_json:
        summary = outcome.summary()
        said = [*summary["notes"], *notes, *unproven]
        print(json_text({**summary, "output": shown(target), "notes": said, **proof}))
    if failure is not None:
        raise failure


def show_price(release: Release, notes: list[str]) -> dict[str, Any]:
    """Print what the release loses beside what it would without each requirement; the same for JSON.

    Where nothing can be priced, a note: the release is finished.
    """
    from shoal.cli.compare import show
    from shoal.comparison import price

    try:
        with watching(doing="price of protection") as progress:
            tried = interruptible(lambda: price(release, progress=progress))
    except InputError as error:
        notes.append(f"no price can be told: {error}")
        say(f"note: {notes[-1]}")
        return {}
    show(tried, None)
    return {"price": tried.facts()}


def after_the_release(error: Exception, target: str) -> ShoalError:
    """The same error, which says first what exists."""
    told = str(error) if isinstance(error, (ShoalError, OSError)) else f"{type(error).__name__}: {error}"
    kind = type(error) if isinstance(error, ShoalError) else MachineError
    what = "standard output" if target == "-" else target
    return kind(f"the release is finished and checked ({what}), but what was to follow failed: {told}")


def guessed(plan: Plan, frame: Frame, accepted: bool) -> Plan:
    """The plan with accepted guesses; unasked only where every column is a plain number to protect."""
    from shoal.frame.guess import guess_roles

    if not len(frame):  # of no records nothing can be guessed
        raise too_few(plan.k, 0)
    guesses = guess_roles(frame)
    left = [guess for guess in guesses if guess.name not in plan.roles and guess.name not in plan.strata]
    if all(guess.role == "quasi" and guess.type in ("integer", "continuous") for guess in left):
        return plan
    if not accepted:
        show_guesses(guesses, stderr=True)
        raise InputError(
            "no column was named, and guesses are not applied unasked: add --accept-guesses to protect as "
            "guessed above, or name the columns to protect, such as -c "
            + ",".join(str(guess.name) for guess in guesses if guess.role == "quasi")
        )
    return with_guesses(plan, guesses)


def refuse_questions(frame: Frame, options: Mapping[str, Any], reported: bool) -> None:
    """Say before the work what the report could not answer, or nobody would read."""
    for flag, asked in zip(("--formula", "--confidential", "--sum"), options.values()):
        if asked and not reported:
            raise InputError(f"{flag} has no effect without a report: add --report, or leave it out")
    frame.find(options["confidential"] or ())
    for text in options["sums"]:
        from shoal.report.audit import declared_sum

        declared_sum(frame, frame, text)
    if options["formula"] is not None:
        from shoal.measures.models import regression

        regression(frame, frame, options["formula"])


def unbounded(plan: Plan, why: str | None = None) -> list[str]:
    """The note that there is no bound for such a table, said before the work; none where there is one."""
    from shoal.bounds import no_bound
    from shoal.grouping.registry import get_method

    if get_method(plan.method).proves or (why := why or no_bound(plan)) is None:
        return []
    say(note := f"no bound can be proven: {why}")
    return [note]


def searched(release: Release, seconds: float, notes: list[str]) -> tuple[dict[str, Any], Bound | None]:
    """The facts of the bound that the method proved itself, or of one that is searched now.

    Where the search fails nothing, and a note: the release is finished.
    """
    from shoal.report.model import own_bound, proof

    bound, known = None, own_bound(release)
    if known is None:
        try:
            bound = interruptible(lambda: release.bound(seconds))
        except (ShoalError, ArithmeticError, MemoryError) as error:
            notes.append(f"no bound was proven ({type(error).__name__}: {error})")
            return {}, None
        known = proof(bound, release.information_loss)
    return facts(known), bound


def write_reports(
    release: Release, editions: Mapping[str, Path | None], options: Mapping[str, Any]
) -> list[tuple[str, Path]]:
    """Write the reports asked for; the internal one compares the neighbouring k too."""
    wanted = [(edition, path) for edition, path in editions.items() if path is not None]
    if not wanted:
        return []
    from shoal.comparison import neighbours
    from shoal.report import build, render, write

    for edition, path in wanted:
        comparison = None
        if edition == "internal":
            with watching() as progress:
                comparison = interruptible(lambda: neighbours(release, progress))
        make = partial(build, release, edition, comparison=comparison, **options)
        with watching(doing=f"{edition} report"):
            model = interruptible(make)
            if path != TERMINAL:
                write(model, path)
        if path == TERMINAL:
            print(render(model, "text"))
    return [(edition, path) for edition, path in wanted if path != TERMINAL]


def refuse_reports(paths: Iterable[Path | None], *taken: str) -> None:
    """Say before the work what would fail after it."""
    others = {Path(other).resolve() for other in taken}
    for path in paths:
        if path is None or path == TERMINAL:
            continue
        from shoal.io.atomic import refuse_place
        from shoal.report import report_format

        report_format(path)
        if path.resolve() in others:
            raise InputError(f"{str(path)!r} cannot be a report and another file too: name another")
        others.add(path.resolve())
        refuse_place(path)
