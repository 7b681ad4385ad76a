"""Every command, one file each; a new command is one more name here."""

from shoal.cli import check, demo, methods, protect
from shoal.cli.app import app

__all__ = ["app", "check", "demo", "methods", "protect"]
