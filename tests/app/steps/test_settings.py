"""Step 2 of the page."""

import pytest

pytest.importorskip("nicegui")


def test_every_centroid_has_words():
    from shoal.app.steps import WORDS
    from shoal.words import CENTROIDS

    assert set(WORDS["choices"]["centroids"]["words"]) == {"", *CENTROIDS}
