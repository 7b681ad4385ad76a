"""Step 1 of the page."""

import pytest

pytest.importorskip("nicegui")


def test_every_role_has_words():
    from shoal.app.steps.data import MEANINGS
    from shoal.words import ROLES

    assert set(MEANINGS) == set(ROLES)
