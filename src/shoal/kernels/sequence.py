"""Optimal partition of a sequence into contiguous groups of k..2k-1 records."""

import numpy as np

from shoal.kernels._jit import kernel


@kernel
def cut(X, k):
    """Labels 0, 0, .., 1, 1, .. of the rows of X (n x d, in sequence order) with the least SSE."""
    n, d = X.shape
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    came = np.zeros(n + 1, np.int64)
    mean = np.empty(d)
    for end in range(k, n + 1):
        # Grow the last group backwards from its end, with Welford's update of its mean and SSE.
        mean[:] = 0.0
        sse = 0.0
        for size in range(1, min(2 * k - 1, end) + 1):
            start = end - size
            for j in range(d):
                delta = X[start, j] - mean[j]
                mean[j] += delta / size
                sse += delta * (X[start, j] - mean[j])
            if size >= k and best[start] + sse < best[end]:
                best[end] = best[start] + sse
                came[end] = start
    labels = np.empty(n, np.int64)
    end = n
    group = 0
    while end > 0:
        labels[came[end] : end] = group
        group += 1
        end = came[end]
    for i in range(n):
        labels[i] = group - 1 - labels[i]
    return labels
