"""Every command, one file each; a new command is one more name here."""

# ruff: noqa: F401

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
from shoal.cli.app import app as app
