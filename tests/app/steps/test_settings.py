"""Step 2 of the page."""

import pytest

pytest.importorskip("nicegui")


def test_every_centroid_has_words():
    from shoal.app.steps.settings import CHOICES
    from shoal.words import CENTROIDS

    assert set(CHOICES["centroids"][1]) == {"", *CENTROIDS}
