"""HTML with text from data in it."""

import subprocess
import sys

import pytest

pytest.importorskip("nicegui")

from shoal.app.markup import pieces, sentence, show

EVIL = "<b onclick='x'>\"&"


def test_markup_escapes_everything():
    made = [
        pieces.table([EVIL], [[EVIL]], EVIL),
        pieces.select(EVIL, [(EVIL, EVIL)], EVIL, column=EVIL),
        pieces.bars([1, 2], [EVIL, "b"], EVIL),
        pieces.code(EVIL, EVIL),
        pieces.figures([(EVIL, EVIL, EVIL)]),
        pieces.losses(EVIL, [(EVIL, EVIL, EVIL, EVIL)]),
        pieces.drop(1, EVIL),
    ]
    for markup in made:
        assert "<b" not in markup.replace("<tbody", "").replace("<button", "").replace("<b>", "")
        assert "onclick='" not in markup
    with pytest.raises(TypeError, match="only Markup goes on the page, not str"):
        show(EVIL)


def test_the_gate_for_markup_stands_without_asserts():
    code = f"from shoal.app.markup import show; show({EVIL!r})"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "TypeError: only Markup goes on the page" in done.stderr


def test_sentences():
    assert sentence("a file is empty: mend it") == "A file is empty: mend it."
    assert sentence("k=5 is too large") == "k=5 is too large."
