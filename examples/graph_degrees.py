"""k-degree anonymity: publish the degrees of a graph so that each is shared by at least k vertices.

Who knows how many acquaintances somebody has could find the person in a published graph by that number
alone. The degrees are whole numbers, so are the published ones: `univariate_integer` finds the groups for
which whole centroids lose least (Mortazavi 2020). A graph's degrees have an even sum; where the published
ones do not, one group of odd size moves by one, the one for which that costs least.

    python examples/graph_degrees.py
"""

import networkx as nx
import numpy as np

import shoal


def anonymous_degrees(degrees: np.ndarray, k: int) -> np.ndarray:
    """Degrees of which each occurs at least k times, with an even sum, close to the given ones."""
    release = shoal.microaggregate(degrees, k, method="univariate_integer")
    published = release.table.copy()
    if published.sum() % 2:
        # A group of odd size moved by one changes the parity. There is one, for an odd sum needs one.
        changes = []
        for group, size in enumerate(release.group_sizes):
            members = release.labels == group
            for step in (-1, 1) if size % 2 else ():
                moved = published[members] + step
                if 0 <= moved[0] < len(degrees):
                    cost = np.square(degrees[members] - moved).sum()
                    changes.append(
                        (cost - np.square(degrees[members] - published[members]).sum(), group, step)
                    )
        _, group, step = min(changes)
        published[release.labels == group] += step
    return published


def main() -> None:
    for name, graph in {
        "Zachary's karate club": nx.karate_club_graph(),
        "Les Miserables": nx.les_miserables_graph(),
        "Florentine families": nx.florentine_families_graph(),
    }.items():
        degrees = np.array([degree for _, degree in graph.degree()])
        for k in (2, 3, 5):
            published = anonymous_degrees(degrees, k)
            shared = np.unique(published, return_counts=True)[1].min()
            print(
                f"{name}, {len(degrees)} vertices, k={k}: each degree is shared by at least {shared}, "
                f"the sum is {published.sum()} (was {degrees.sum()}), "
                f"squared error {np.square(degrees - published).sum()}"
            )
            if shared < k or published.sum() % 2:
                raise SystemExit(f"{name}: the published degrees are not what they should be")


if __name__ == "__main__":
    main()
