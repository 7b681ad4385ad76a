"""Step 1 of the page."""

import pytest

pytest.importorskip("nicegui")


def test_every_role_has_words():
    from shoal.app.steps import WORDS
    from shoal.words import ROLES

    assert set(WORDS["roles"]) == set(ROLES)
