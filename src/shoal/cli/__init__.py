"""The command line: thin. Heavy parts are imported inside the commands, so that help answers at once."""

import sys


def main() -> None:
    """Run `shoal`.

    Exit 0 done, 1 the answer is no, 2 the request is wrong, 3 the machine failed, 130 interrupted.
    """
    try:
        from shoal.cli.commands import app

        app()
    except (MemoryError, SystemError, ImportError) as error:  # before a command began
        short = not isinstance(error, ImportError) or "memory" in str(error) or "failed to map" in str(error)
        if not short:
            raise
        sys.stderr.write("shoal: the memory does not suffice: close other programs\n")
        sys.exit(3)
