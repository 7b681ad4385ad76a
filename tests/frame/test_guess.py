"""Guesses at roles and types."""

import pyarrow as pa

from shoal.frame.frame import Frame
from shoal.frame.guess import guess_roles


def test_guesses_at_truths_and_free_text():
    words = [f"text {j // 2 if j < 4 else j}" for j in range(10)]
    guesses = guess_roles(Frame(pa.table({"married": [True, False] * 5, "remark": words})))
    assert [(guess.role, guess.type) for guess in guesses] == [("quasi", "boolean"), ("other", "nominal")]
    assert guesses[0].reason == "stored as boolean"
    assert guesses[1].reason == "free text? 8 different values; published as it is"
