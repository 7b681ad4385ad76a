"""Every command, one file each; a new command is one more name here."""

from shoal.cli import check, demo, inspect, methods, plan, protect
from shoal.cli.app import app

__all__ = ["app", "check", "demo", "inspect", "methods", "plan", "protect"]
