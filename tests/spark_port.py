"""What a stranger says to the ports of Spark: frames of its protocol, made by hand."""

import socket
import struct


def _text(word):
    return struct.pack(">i", len(word)) + word.encode()


def _framed(body):
    """A request (type 3) with a number, and its body."""
    return struct.pack(">qbqi", 8 + 1 + 8 + 4 + len(body), 3, 7, len(body)) + body


#: To a driver: no sender, "endpoint-verifier" of driver:1, and the text "hello" as Java writes an object.
_name = b"endpoint-verifier"
TO_DRIVER = _framed(
    b"\0" + b"\1\0\6driver" + struct.pack(">i", 1) + struct.pack(">h", len(_name)) + _name
    + bytes.fromhex("aced0005740005") + b"hello"
)  # fmt: skip


def to_blocks(block):
    """To a block manager: open this block for executor 1."""
    return _framed(b"\0" + _text("app") + _text("1") + struct.pack(">i", 1) + _text(block))


def answers(port, request):
    """Whether the port answers the request; a failure, silence or a closed connection are none."""
    with socket.create_connection(("127.0.0.1", int(port)), 20) as line:
        line.settimeout(20)
        line.sendall(request)
        try:
            head = line.recv(9)
        except OSError:
            return False
    return len(head) == 9 and head[8] == 4
