"""What a bound is: a number, the method that found it, and a certificate that proves it again."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.display import card
from shoal.errors import InputError
from shoal.frame.large import PIECE
from shoal.io.atomic import replacing
from shoal.io.limits import refuse_size

if TYPE_CHECKING:
    from shoal.plan import Plan

#: Every price is lowered, every penalty raised by this share of itself before they are summed. Rounding in
#: the proofs is below 1e-12 of the same quantities, so the stated bound holds for exact arithmetic too.
MARGIN = 1e-9
#: A partition is called optimal if no other has an SSE below its own by more than this share of it.
PROVEN = 1e-9
#: What rounding can add up to in the value of prices and penalties, as a share of their sums: a group's
#: reduced cost is a sum of some hundred numbers, each right to 2e-16 of itself (1e-13 with 500 columns).
ROUNDING = 1e-12
_NUMBERS, _WORDS = {"sse", "information_loss", "seconds"}, {"method", "proof", "fingerprint"}


@dataclass(frozen=True)
class Certificate:
    """The numbers that prove a bound: which proof, for which k, on which records, and its arrays."""

    proof: str  # "one group", "neighbours", "prices", "blocks", "matrix" or "tree"
    k: int
    fingerprint: str  # of k and the standardised records, with the weights of their values
    arrays: dict[str, NDArray] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Bound:
    """No partition of these records into groups of at least k has a sum of squared errors below `sse`."""

    sse: float
    information_loss: float  # in percent of the total sum of squares
    method: str
    certificate: Certificate
    seconds: float = 0.0
    records: Floats | None = field(default=None)  # standardised, for the proof
    weights: Floats | None = field(default=None)  # of their values, where not all are 1

    def __repr__(self) -> str:
        return (
            f"Bound(k={self.certificate.k}: at least {self.information_loss:.4g} % is lost, {self.method!r})"
        )

    def _repr_html_(self) -> str:
        proof = f"{self.certificate.proof}, found in {self.seconds:.2f} s; verify() proves it again"
        words = f"No partition into groups of at least {self.certificate.k} records loses less than this."
        lost = f"{self.information_loss:.6g} % (sum of squared errors {self.sse:.6g})"
        return card("Bound", [("least loss", lost), ("means", words), ("proof", proof)])

    def verify(self, data: Any = None, columns: Any = None, plan: Plan | None = None) -> bool:
        """Prove the bound again from the data and the certificate, by code apart from the search for it.

        Without `data`, from the records that the bound was made of. A bound that was loaded from a file has
        none: it needs data, and the columns or the plan that it was made for. False if the certificate, the
        stated figures or the data are not what they were.
        """
        from shoal.bounds.verify import verify

        if data is None:
            if self.records is None:
                raise InputError("a loaded bound knows no records: call verify(data) with the original data")
            return verify(self, self.records, self.weights)
        from shoal.bounds import measured

        return verify(self, *measured(data, columns, plan))

    def gap(self, information_loss: float) -> float:
        """How much more than the bound a partition loses, as a share of the bound; 0 means proven optimal."""
        if self.information_loss > 0:
            return (information_loss - self.information_loss) / self.information_loss
        return 0.0 if information_loss <= 0 else math.inf

    def save(self, path: str | Path) -> None:
        """Write the figures and the certificate, not the records, as a .npz file.

        It is for auditors inside, and only its owner may read it: it has one price for each record,
        in the order of the rows, which tells how far out the record lies. Never publish it beside a release.
        """
        facts = {name: getattr(self, name) for name in ("sse", "information_loss", "method", "seconds")}
        facts |= {name: getattr(self.certificate, name) for name in ("proof", "k", "fingerprint")}
        stored: dict[str, Any] = {"facts": json.dumps(facts), **self.certificate.arrays}
        with replacing(Path(path), private=True) as part, part.open("wb") as file:
            np.savez_compressed(file, **stored)

    @classmethod
    def load(cls, path: str | Path) -> Bound:
        """The bound in a file that `save` wrote; it proves nothing before `verify(data)` says so."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"there is no certificate {str(path)!r}")
        try:
            with zipfile.ZipFile(path) as package:
                size = sum(part.file_size for part in package.infolist())
            refuse_size(size, path.stat().st_size, str(path))
            with np.load(path, allow_pickle=False) as stored:
                facts = json.loads(str(stored["facts"]))
                arrays = {name: stored[name] for name in stored.files if name != "facts"}
            kinds = {**dict.fromkeys(_NUMBERS, float), **dict.fromkeys(_WORDS, str), "k": int}
            if {name: type(fact) for name, fact in facts.items()} != kinds or not 1 <= facts["k"] + facts[
                "sse"
            ] < np.inf:
                raise ValueError("its figures are not those of a bound")
        except InputError:
            raise
        except Exception as error:  # a damaged file fails in many ways
            said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            raise InputError(f"{str(path)!r} is no certificate of a bound ({said})") from None
        certificate = Certificate(facts.pop("proof"), facts.pop("k"), facts.pop("fingerprint"), arrays)
        return cls(certificate=certificate, **facts)


def fingerprint(X: Floats, k: int, V: Floats | None = None) -> str:
    """Names k and the standardised records, to eight decimals: the last bits differ between machines."""
    named = hashlib.sha256(f"{k} {X.shape}".encode())
    for begin in range(0, len(X), PIECE):
        named.update((np.round(X[begin : begin + PIECE], 8) + 0.0).tobytes())  # no negative zero
    if V is not None:
        named.update(np.ascontiguousarray(V).tobytes())
    return named.hexdigest()


def total_sum_of_squares(X: Floats, V: Floats | None = None) -> float:
    """What all records in one group cost."""
    if V is None:
        mean, begins = X.mean(axis=0), range(0, len(X), PIECE)
        return math.fsum(np.square(X[begin : begin + PIECE] - mean).sum() for begin in begins)
    weight = V.sum(axis=0)
    means = (V * X).sum(axis=0) / np.where(weight > 0, weight, 1.0)
    return float((V * np.square(X - means)).sum())


def priced_value(prices: Floats, penalties: Floats) -> float:
    """The bound that feasible prices and penalties prove, with the margin taken off."""
    value = math.fsum(prices) - MARGIN * math.fsum(np.abs(prices)) - (1 + MARGIN) * math.fsum(penalties)
    return max(0.0, value)


def node_value(prices: Floats, owed: Floats, cost: float) -> float:
    """What prices prove that no group of a list undercuts, for partitions of about this cost."""
    sizes = math.fsum(np.abs(prices)) + math.fsum(owed) + cost
    return math.fsum(prices) - math.fsum(owed) - ROUNDING * sizes


def matrix_value(paid: Floats, taken: float, size: float) -> float:
    """What a matrix of this size (Frobenius norm) proves: what the rows pay, less what it takes back."""
    value = (
        math.fsum(paid) - taken - MARGIN * (math.fsum(np.abs(paid)) + abs(taken)) - 1e-12 * len(paid) * size
    )
    return max(0.0, value)
