"""Ports that a test names before anybody listens there."""

import os
import socket
from contextlib import suppress
from itertools import count

#: Linux hands out ports from 32768 on. So nobody gets one of these by chance before it is listened on.
FIRST, MANY = 20_000, 12_000
_numbers = count(61 * os.getpid())  # each process of the tests begins elsewhere


def free_port():
    """A port of this machine that nobody uses; each is named once."""
    while True:
        port = FIRST + next(_numbers) % MANY
        with suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port
