"""The command line: thin. Heavy parts are imported inside the commands, so that help answers at once."""

import atexit
import gc
import sys
from importlib import import_module

#: A new command is one more file and one more name here; help lists them so.
COMMANDS = (
    *("demo", "inspect", "protect", "check", "suggest", "compare"),
    *("measure", "bound", "optimum", "methods", "plan", "page"),
)


def main() -> None:
    """Run `shoal`.

    Exit 0 done, 1 the answer is no, 2 the request is wrong, 3 the machine failed, 130 interrupted.
    """
    # What was imported stays until the end: to look through it again and again costs 0.1 s, at the end 0.3 s.
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)
    try:
        named = len(sys.argv) > 1 and sys.argv[1] in COMMANDS
        import_module(f"shoal.cli.{sys.argv[1] if named else 'commands'}")  # to load all costs 0.05 s
        from shoal.cli.app import app

        app()
    except (MemoryError, SystemError, ImportError) as error:  # before a command began
        short = not isinstance(error, ImportError) or "memory" in str(error) or "failed to map" in str(error)
        if not short:
            raise
        sys.stderr.write("shoal: the memory does not suffice: close other programs\n")
        sys.exit(3)
