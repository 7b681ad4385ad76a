"""Guesses about columns, taken over into a plan or shown to a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.cli.console import print_table

if TYPE_CHECKING:
    from shoal.frame.guess import Guess
    from shoal.plan import Plan


def with_guesses(plan: Plan, guesses: Sequence[Guess]) -> Plan:
    """The plan with the guessed roles and types of columns that it says nothing about.

    A plan that names columns to protect protects no others.
    """
    left = [guess for guess in guesses if guess.name not in plan.roles]
    roles = {g.name: "other" if g.role == "quasi" and plan.columns else g.role for g in left}
    if plan.weight is not None:
        roles = {name: "other" if role == "weight" else role for name, role in roles.items()}
    quasi = [name for name, role in {**roles, **plan.roles}.items() if role == "quasi"]
    types = {g.name: g.type for g in guesses if g.name in quasi and g.type and g.name not in plan.levels}
    return replace(plan, roles={**roles, **plan.roles}, types={**types, **plan.types})


def show_guesses(guesses: Sequence[Guess], stderr: bool = False) -> None:
    """One line for each column: role, type, values, gaps, and why."""
    rows = [
        (str(g.name), g.role, g.type or "", f"{g.distinct:,}", f"{g.gaps:,}" if g.gaps else "", g.reason)
        for g in guesses
    ]
    print_table(("column", "role", "type", "values", "gaps", "why"), rows, stderr)
