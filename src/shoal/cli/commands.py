"""Every command, one file each."""

from importlib import import_module

from shoal.cli import COMMANDS
from shoal.cli.app import app as app

for _name in COMMANDS:
    import_module(f"shoal.cli.{_name}")
