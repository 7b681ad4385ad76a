"""`shoal protect`: protect a table and say what was lost."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

import shoal
from shoal.cli.app import AsJson, Columns, MaybeK, PerColumn, PlanFile, Strata, app
from shoal.cli.console import guarded, interruptible, show_outcome, watching
from shoal.cli.places import source_and_target
from shoal.cli.values import assignments, parameters, whole
from shoal.errors import InputError


@app.command()
@guarded
def protect(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="IN", help="The table: a file, a database's URL, or - for stdin."),
    ],
    k: MaybeK = None,
    column: Columns = None,
    plan: PlanFile = None,
    method: Annotated[str, typer.Option("-m", "--method", help="See `shoal methods`.")] = "auto",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method; repeat it."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="COL=TYPE", help="What a column holds, such as nominal; repeat it."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="COL=ROLE", help="What a column is: identifier (dropped), ..."),
    ] = None,
    stratum: Strata = None,
    merge_small_strata: Annotated[
        bool, typer.Option("--merge-small-strata", help="Merge strata short of k with the most similar.")
    ] = False,
    weight: Annotated[
        str | None, typer.Option("--weight", metavar="COL", help="Survey weights, for centroids and loss.")
    ] = None,
    missing: Annotated[
        str, typer.Option("--missing", help="What to do with gaps: group, impute, error or drop.")
    ] = "group",
    scaling: Annotated[
        str, typer.Option("--scaling", help="For grouping: standard, robust, range, rank or none.")
    ] = "standard",
    preserve: Annotated[
        str | None, typer.Option("--preserve", help='"totals" keeps the totals of whole numbers.')
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="Default: NAME.protected.EXT beside IN; - for stdout."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Allow a database's table to be replaced.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same release.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Return the best found by then.")
    ] = None,
    per_column: PerColumn = False,
    as_json: AsJson = False,
) -> None:
    """Protect a table and say what was lost."""
    from shoal.pipeline import run

    if plan is not None:
        refuse_beside_plan(context)
        wanted = shoal.Plan.read(plan, None if k is None else whole(k))
    elif k is None:
        raise InputError("how many records must share each combination? give -k, such as -k 5, or a --plan")
    else:
        wanted = shoal.Plan(
            whole(k),
            tuple(column) if column else None,
            method,
            parameters(settings),
            seed,
            time_limit,
            per_column,
            types=assignments(types, "--type"),
            roles=assignments(role, "--role"),
            strata=stratum or (),
            merge_small_strata=merge_small_strata,
            weight=weight,
            missing=missing,
            scaling=scaling,
            preserve=preserve,
        )
    with source_and_target(file, output, replace) as (source, target), watching() as progress:
        release = interruptible(lambda: run(wanted, source, progress))
        release.write(target, replace=replace)
    outcome = {**release.summary(), "output": output or target}
    show_outcome(outcome)
    if as_json:
        print(json.dumps(outcome))


def refuse_beside_plan(context: typer.Context) -> None:
    """A plan says everything: an option beside it would make another release than the plan's."""
    allowed = ("file", "k", "plan", "output", "replace", "as_json")
    for option in context.command.params:
        given: Any = context.get_parameter_source(option.name or "")
        if option.name not in allowed and given is not None and given.name == "COMMANDLINE":
            raise InputError(f"{option.opts[-1]} is the plan's to say: change it there, or leave --plan out")
