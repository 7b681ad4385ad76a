"""Models fitted on both tables: can one tell them apart, and do they give the same coefficients?"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, did_you_mean
from shoal.frame.frame import Frame
from shoal.measures.measure import Measure, by_column, measure
from shoal.measures.pair import Pair, column_values

#: Permutations of the tree's labels, to learn what chance alone gives. Each fits one more tree, so single
#: columns get a third of them.
PERMUTATIONS = 10
#: Splits one below another in that tree, at most.
DEPTH = 10
#: Columns up to which their products join the logistic model: beyond, it has more than a hundred parameters.
PRODUCTS = 12


def propensity(tables: Pair, kind: str, sample: int, seed: int) -> Measure:
    """How well a model tells released records from original ones (pMSE), with what chance would give.

    The logistic model has squares, and products of few columns: means are kept by construction. Its
    expected pMSE is (parameters - 1)(1 - c)^2 c / N with c = 1/2 (Snoke et al. 2018); that of the tree is
    the mean over permuted labels. Both assume independent tables: a release follows its original
    closely, so a ratio below 1 is no surprise.
    """
    from threadpoolctl import threadpool_limits

    rng, names = np.random.default_rng(seed), tables.numbers.names
    lengths = len(tables.original), len(tables.released)
    most = min(*lengths, sample)  # as many of both tables: c is then 1/2
    rows, *later = (
        rng.choice(records, most, replace=False) if records > most else slice(None)
        for records in (lengths[:1] if tables.matched else lengths)
    )
    X, Y = tables.matrices(rows, *later)
    both = np.vstack((X, Y))
    spread = both.std(axis=0)
    both = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1)
    released = np.repeat([0.0, 1.0], len(X))
    measured = _logistic_pmse if kind == "logistic" else _tree_pmse
    with threadpool_limits(1):  # these matrices are small: more threads only wait for each other
        overall, expected = measured(both, released, rng, PERMUTATIONS)
        single = {
            name: measured(both[:, [j]], released, rng, PERMUTATIONS // 3) for j, name in enumerate(names)
        }
    values, chance = ({name: pair[side] for name, pair in single.items()} for side in (0, 1))
    ratio = overall / expected if expected else None
    detail = {"expected": expected, "ratio": ratio, "expected_by_column": chance, "records": len(X)}
    return measure(f"pmse_{kind}", overall, values, detail)


def _logistic_pmse(Z: NDArray, released: NDArray, *_: Any) -> tuple[float, float]:
    design = [np.ones(len(Z)), *Z.T]
    design += [column * column for column in Z.T]
    if Z.shape[1] <= PRODUCTS:
        design += [Z[:, i] * Z[:, j] for i in range(Z.shape[1]) for j in range(i)]
    D = np.stack(design, axis=1)
    D = _independent(D)
    chance = fit_logistic(D, released)
    return float(np.square(chance - 0.5).mean()), (D.shape[1] - 1) / (8 * len(Z))


def _independent(D: NDArray) -> NDArray:
    """An orthonormal basis of the design's columns: dependent ones drop out, the fit is well conditioned."""
    from scipy.linalg import qr

    D = D / np.maximum(np.sqrt(np.square(D).sum(axis=0)), 1e-300)
    Q, R, _ = qr(D, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return Q[:, diagonal > 1e-9 * diagonal[0]]


def fit_logistic(D: NDArray, y: NDArray) -> NDArray:
    """Fitted probabilities of an unpenalised logistic regression, by Newton's method with step halving."""
    beta, best = np.zeros(D.shape[1]), np.inf
    step = np.zeros(D.shape[1])
    for _ in range(100):
        eta = np.clip(D @ (beta + step), -30, 30)
        loss = float(np.logaddexp(0, eta).sum() - y @ eta)
        if loss > best:
            step /= 2
            if np.abs(step).max() < 1e-10:
                break
            continue
        beta, gain, best = beta + step, best - loss, loss
        if gain < 1e-10 * len(y):
            break
        p = 1 / (1 + np.exp(-eta))
        hessian = D.T @ (D * np.maximum(p * (1 - p), 1e-10)[:, None])
        step = np.linalg.solve(hessian, D.T @ (y - p))
    return 1 / (1 + np.exp(-np.clip(D @ beta, -30, 30)))


def _tree_pmse(
    Z: NDArray, released: NDArray, rng: np.random.Generator, permutations: int
) -> tuple[float, float]:
    """Of a classification tree (Breiman et al. 1984): Gini's splits, at most `DEPTH` one below another."""
    orders = np.argsort(Z.T, axis=1, kind="stable")
    leaf = max(5, len(Z) // 200)
    chance = [_below(Z.T, rng.permutation(released), orders, leaf) for _ in range(permutations)]
    own, *others = (squares / len(Z) for squares in [_below(Z.T, released, orders, leaf), *chance])
    return own, float(np.mean(others))


def _below(columns: NDArray, labels: NDArray, orders: NDArray, leaf: int, depth: int = DEPTH) -> float:
    """The squares of (share released - 1/2), summed over the records of a node's leaves.

    `orders` has the node's records in the order of each column. scikit-learn grows the same trees, but to
    import it takes longer than all that is measured of a small table.
    """
    ones = np.cumsum(labels[orders], axis=1)
    count, total = orders.shape[1], ones[0, -1]
    here = count * (total / count - 0.5) ** 2
    if depth == 0 or count < 2 * leaf or total in (0, count):
        return float(here)
    cuts = np.arange(leaf, count - leaf + 1)  # records before the cut
    values = np.take_along_axis(columns, orders, axis=1)
    before, rest = ones[:, cuts - 1], count - cuts
    pure = (before**2 + (cuts - before) ** 2) / cuts
    pure += ((total - before) ** 2 + (rest - total + before) ** 2) / rest
    pure[values[:, cuts - 1] == values[:, cuts]] = -1.0  # no cut between equal values
    column, cut = np.unravel_index(np.argmax(pure), pure.shape)
    if pure[column, cut] < 0:
        return float(here)
    first = np.zeros(len(labels), bool)
    first[orders[column, : cuts[cut]]] = True
    parts = (orders[side].reshape(len(orders), -1) for side in (first[orders], ~first[orders]))
    return sum(_below(columns, labels, part, leaf, depth - 1) for part in parts)


# --- regression ----------------------------------------------------------------------------------------

_TERM = re.compile(
    r"\s*(?:(?P<f>log|sqrt)\s*\(\s*)?(?:`(?P<quoted>[^`]+)`|(?P<bare>[^\s`+:~()]+))\s*(?P<close>\))?\s*$"
)


def regression(before: Frame, after: Frame, formula: str, matched: bool = True) -> Measure:
    """The same linear model fitted by least squares on both tables; `matched` says that rows correspond."""
    y_text, tilde, right = formula.partition("~")
    if not tilde or not y_text.strip() or not right.strip():
        raise InputError(f"a formula reads 'y ~ a + b', not {formula!r}")
    fits = []
    for frame in (before, after):
        y = _factor(frame, y_text)
        if len(y) != 1:
            raise InputError(f"the left side of {formula!r} must be one numeric column")
        columns: dict[str, NDArray] = {"(constant)": np.ones(len(frame))}
        for term in _split(right, "+"):
            columns |= _interaction(frame, term)
        fits.append((columns, next(iter(y.values()))))
    names = [name for name in fits[0][0] if name in fits[1][0]]
    designs = [(np.stack([columns[name] for name in names], axis=1), y) for columns, y in fits]
    whole = [np.isfinite(y) & np.isfinite(D).all(axis=1) for D, y in designs]
    whole = [whole[0] & whole[1]] * 2 if matched else whole
    (b0, se0), (b1, se1) = (least_squares(D[there], y[there]) for (D, y), there in zip(designs, whole))
    moved = (b1 - b0) / np.where(se0 > 0, se0, np.inf)
    overlap = _overlap(b0, se0, b1, se1)
    facts = {"before": b0, "after": b1, "standard_error_before": se0, "standard_error_after": se1}
    facts["interval_overlap"] = overlap
    return by_column(
        "regression",
        names,
        moved,
        formula=formula.strip(),
        records=int(whole[1].sum()),
        mean_interval_overlap=float(np.mean(overlap)),
        **{key: dict(zip(names, values)) for key, values in facts.items()},
    )


def least_squares(D: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Coefficients and their standard errors."""
    scale = np.sqrt(np.square(D).sum(axis=0))
    scale = np.where(scale > 0, scale, 1)
    beta, _, rank, _ = np.linalg.lstsq(D / scale, y, rcond=None)
    if rank < D.shape[1] or len(D) <= rank:
        raise InputError("the model has more coefficients than the data can tell apart: take terms out")
    rest = y - D / scale @ beta
    variance = rest @ rest / (len(D) - rank)
    inverse = np.linalg.inv((D / scale).T @ (D / scale))
    return beta / scale, np.sqrt(variance * np.diag(inverse)) / scale


def _overlap(b0: NDArray, se0: NDArray, b1: NDArray, se1: NDArray) -> NDArray:
    """Mean share of the two 95 % intervals that they have in common (Karr et al. 2006); 0 if none."""
    low0, high0, low1, high1 = b0 - 1.96 * se0, b0 + 1.96 * se0, b1 - 1.96 * se1, b1 + 1.96 * se1
    common = np.maximum(0, np.minimum(high0, high1) - np.maximum(low0, low1))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (common / (high0 - low0) + common / (high1 - low1)) / 2
    return np.where((se0 > 0) & (se1 > 0), share, (np.isclose(b0, b1)).astype(float))


def _split(text: str, sign: str) -> list[str]:
    """Split at a sign that does not stand between backticks."""
    return re.split(rf"{re.escape(sign)}(?=(?:[^`]*`[^`]*`)*[^`]*$)", text)


def _interaction(frame: Frame, text: str) -> dict[str, NDArray]:
    product = {"": np.ones(len(frame))}
    for part in _split(text, ":"):
        factor = _factor(frame, part)
        product = {f"{a}:{b}" if a else b: u * v for a, u in product.items() for b, v in factor.items()}
    return product


def _factor(frame: Frame, text: str) -> dict[str, NDArray]:
    """One factor of a term as columns: a number, its log or root, or one column for each further category."""
    match = _TERM.match(text)
    if match is None or bool(match["f"]) != bool(match["close"]):
        raise InputError(
            f"{text.strip()!r} is not a term: use a column, log(column), sqrt(column), a:b, or `odd name`"
        )
    by_text = {str(name): name for name in frame.names}
    word = match["quoted"] or match["bare"]
    if word not in by_text:
        raise InputError(f"there is no column {word!r} for the formula: {did_you_mean(word, by_text)}")
    values = column_values(frame, by_text[word])
    if values.dtype.kind != "f":
        levels = np.unique(values)
        if match["f"] or len(levels) > 50:
            raise InputError(f"column {word!r} holds text of {len(levels)} kinds: it cannot be such a term")
        return {f"{word}={level}": (values == level).astype(float) for level in levels[1:]}
    if match["f"] is None:
        return {word: values}
    with np.errstate(invalid="ignore", divide="ignore"):
        changed = np.log(values) if match["f"] == "log" else np.sqrt(values)
    if np.isfinite(values).sum() != np.isfinite(changed).sum():
        raise InputError(f"{match['f']}({word}) is not defined for all its values: take the column as it is")
    return {f"{match['f']}({word})": changed}
