"""Every command, one file each; a new command is one more name here."""

from shoal.cli import (
    bound,
    check,
    compare,
    demo,
    inspect,
    measure,
    methods,
    optimum,
    page,
    plan,
    protect,
    suggest,
)
from shoal.cli.app import app

__all__ = [
    "app",
    "bound",
    "check",
    "compare",
    "demo",
    "inspect",
    "measure",
    "methods",
    "optimum",
    "page",
    "plan",
    "protect",
    "suggest",
]
