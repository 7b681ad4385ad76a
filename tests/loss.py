"""Information loss in its plainest form, for tests to compare with."""

import numpy as np


def information_loss(Z: np.ndarray, labels: np.ndarray) -> float:
    """100 * SSE / SST, computed plainly."""
    sse = sum(np.square(Z[labels == g] - Z[labels == g].mean(0)).sum() for g in np.unique(labels))
    return 100 * sse / np.square(Z - Z.mean(0)).sum()
