"""Every command, one file each."""

from importlib import import_module

from shoal.cli import COMMANDS
from shoal.cli.app import app as app

for _name in COMMANDS:
    import_module(f"shoal.cli.{_name}")
app.registered_commands.sort(  # one file may have imported another before its turn
    key=lambda command: COMMANDS.index(getattr(command.callback, "__module__", "").rpartition(".")[2])
)
