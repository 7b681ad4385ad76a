"""Draw the README's picture: `python docs/make_pictures.py`."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

import shoal

matplotlib.rcParams.update({"svg.hashsalt": "shoal", "font.size": 11})


def shoal_picture(path: Path) -> None:
    """Records, their groups, and the centroids that are published instead."""
    rng = np.random.default_rng(4)
    centres = np.array([[0, 0], [3.2, 1], [1.4, 3.2]])
    X = np.concatenate([centre + rng.normal(0, 0.75, (18, 2)) for centre in centres])
    release = shoal.microaggregate(X, 3)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
    axes[0].scatter(*X.T, s=26, color="#1f6f8b")
    axes[0].set_title(f"{len(X)} records")
    for x, y in zip(X, release.table):
        axes[1].plot(*np.stack([x, y]).T, color="#9bb8c4", lw=0.8, zorder=1)
    axes[1].scatter(*X.T, s=6, color="#9bb8c4", zorder=2)
    sizes = release.group_sizes[release.labels]
    axes[1].scatter(*release.table.T, s=24 * sizes, color="#e07a3f", zorder=3)
    axes[1].set_title(
        f"published: {len(release.group_sizes)} points of at least 3, {release.information_loss:.1f} % lost"
    )
    for axis in axes:
        axis.set(xticks=[], yticks=[], aspect="equal")
        axis.spines[:].set_color("#cccccc")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    folder = Path(__file__).parent / "img"
    folder.mkdir(exist_ok=True)
    shoal_picture(folder / "shoal.svg")
