"""The report's model: plain values, the same for every rendering, fit for JSON as they are.

The public edition is built from a list of what may be told, not by striking out what may not: a fact that
is added later stays inside until somebody decides otherwise.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

import shoal
from shoal.arrays import Ints
from shoal.errors import InputError, ShoalError
from shoal.frame.frame import Frame
from shoal.grouping.registry import methods
from shoal.io.contents import sha256
from shoal.io.databases import address as places
from shoal.measures.measure import plain, shown
from shoal.measures.pair import cells_in_pieces, coded
from shoal.plan.rules import required_by
from shoal.plan.text import as_command, as_python, changed, needs_file
from shoal.report.audit import audit
from shoal.report.pictures import distributions, record_map
from shoal.stages.units import group_sizes

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.comparison import Comparison
    from shoal.measures.measure import Measures
    from shoal.measures.pair import Pair
    from shoal.release import Release

SCHEMA, VERSION = "shoal-report", "1.1"
EDITIONS = ("internal", "public")
BOUND_SECONDS = 4.0  # what a report may spend on the proven bound: `shoal protect --bound` spends more
BOUND_NEAR = 1e-3  # a release that lies no further above the bound is as good as the best: the search ends
BOUND_RECORDS = 50_000  # records above which it goes without: ten seconds prove little there
HEADLINE = 6  # columns that a headline names; of more it tells the number
SUBGROUP_LEVELS = 20  # categories up to which a kept text column serves to compare subgroup means
ROLES = {
    "identifier": "identifier: left out",
    "quasi": "quasi: grouped on and replaced",
    "confidential": "confidential: kept, and watched",
    "weight": "weight: kept",
    "stratum": "stratum: kept, groups stay within it",
    "unit": "unit: left out, k counts different ones",
    "other": "other: kept as it is",
}
#: How each engine is called with what is no file.
CALLS = {
    "memory": "shoal.microaggregate(data",
    "disk": "shoal.protect_files(data, 'safe.parquet'",
    "spark": "shoal.spark.protect(data",
}
PUBLIC_OUTCOME = (
    *("records", "columns", "groups", "smallest_group", "information_loss", "rounding_loss", "k"),
    *("method_title", "paper", "promise", "per_column", "headline", "kept"),
    *("recoded", "steps", "recoding_loss"),
)
PUBLIC_UTILITY = (
    *("information_loss", "means", "variances", "quantiles", "covariances", "correlations"),
    *("eigenvalues", "hellinger", "changed", "pmse_logistic", "pmse_tree", "subgroups"),
)


def build(
    release: Release,
    edition: str = "internal",
    *,
    comparison: Comparison | None = None,
    confidential: Sequence[Any] | None = None,
    formula: str | None = None,
    subgroups: Sequence[Any] | None = None,
    sums: Sequence[str] = (),
    bound: Bound | None = None,
    bound_time: float | None = BOUND_SECONDS,
) -> dict[str, Any]:
    """All that a report says about a release.

    `comparison` (from `shoal.compare`) answers "why this k" with figures; `confidential`, `formula` and
    `subgroups` are those of `shoal.risk` and `shoal.utility`; `sums` names totals that should still add
    up, such as "total = wages + profit". `bound` is what `Release.bound` found; without it, and
    where the method has proven none itself, `bound_time` seconds are spent on finding one.
    """
    refuse_edition(edition)
    both = release.measured.pair()  # held until the end, so that the columns are read once
    if subgroups is None:
        subgroups = _subgroups(both.original, release.columns)
    lost = release.utility(formula=formula, subgroups=subgroups)
    kept = list(release.outcome.kept)
    used = [methods()[key] for key in release.used or (release.plan.method,)]
    outcome = release.summary() | {
        "method_title": ", ".join(info.title for info in used),
        "paper": ", ".join(dict.fromkeys(info.paper for info in used)),
        "headline": _headline(release, kept),
        "kept": kept,
        "sizes": histogram(group_sizes(release.labels, release.units)),
    }
    if edition == "public":
        return plain(public(outcome, lost))
    after = release.risk(confidential=confidential)
    before = release.risk(confidential=confidential, before=True)
    least = _bound(release, bound, bound_time)
    return internal(
        both,
        release.labels,
        (lost, before, after),
        sums,
        outcome=outcome,
        provenance=_provenance(release, both.original),
        why_k=_why(release, after, comparison, least),
        bound=least,
        notes=list(dict.fromkeys([*lost.notes, *after.notes, *([] if least else _unbounded(release))])),
    )


def refuse_edition(edition: str) -> None:
    """Refuse what is no edition of a report."""
    if edition not in EDITIONS:
        raise InputError(f"a report's edition is 'internal' or 'public', not {edition!r}")


def internal(
    both: Pair,
    labels: Ints,
    measures: tuple[Measures, Measures, Measures],
    sums: Sequence[str] = (),
    **facts: Any,
) -> dict[str, Any]:
    """The internal edition: the `facts`, what was lost, what was and is at risk, and what pictures show."""
    lost, before, after = measures
    model = {
        **_head("internal", datetime.now(UTC).isoformat(timespec="seconds")),
        "utility": lost.facts(),
        "risk": {"before": before.facts(), "after": after.facts()},
        "distributions": distributions(both),
        "map": record_map(both, labels),
        "audit": audit(both, sums),
    }
    return plain(model | facts)


def _head(edition: str, created: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "version": VERSION, "edition": edition, "created": created}


def histogram(sizes: Ints) -> dict[int, int]:
    """How many groups have each size."""
    return {int(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True))}


def public(outcome: Mapping[str, Any], lost: Measures) -> dict[str, Any]:
    """What was done and what was lost, rounded; nothing by which to undo it.

    No seed, no risk, no source, no value of the original: differences of many exact statistics, or of means
    in small subgroups, would tell single values.
    """
    public = {key: outcome[key] for key in PUBLIC_OUTCOME}
    public |= {key: _rounded(public[key]) for key in ("information_loss", "rounding_loss")}
    public["recoding_loss"] = {name: _rounded(lost) for name, lost in public["recoding_loss"].items()}
    measures = {}
    for key in [key for key in PUBLIC_UTILITY if key in lost]:
        facts = lost[key].facts()
        measures[key] = {name: facts[name] for name in ("title", "meaning", "unit")} | {
            "overall": _rounded(facts["overall"]),
            "columns": {name: _rounded(value) for name, value in facts["columns"].items()},
        }
    if "correlations" in lost:
        detail = lost["correlations"].detail
        change = np.asarray(detail["after"]) - np.asarray(detail["before"])
        moved = [[round(value, 2) for value in row] for row in change.tolist()]
        measures["correlations"]["detail"] = {"names": detail["names"], "change": moved}
    day = datetime.now(UTC).date().isoformat()
    return {**_head("public", day), "outcome": public, "utility": measures}


def _rounded(value: float | None) -> float | None:
    """Two digits that mean something, and nothing below a thousandth."""
    return None if value is None else float(f"{round(value, 3):.2g}")


def _subgroups(original: Frame, protected: Sequence[Any]) -> list[Any] | None:
    """Kept text columns with few values, such as a region or a sector."""
    names = []
    for name in original.names:
        if name not in protected and name not in original.numeric():
            levels = coded(original, name)[0]
            if levels.dtype.kind == "U" and 1 < len(levels) <= SUBGROUP_LEVELS:
                names.append(name)
    return names or None


def _headline(release: Release, kept: Sequence[str]) -> str:
    """What is published, true when it is read alone."""
    plan, names = release.plan, [str(name) for name in release.columns]
    on = ", ".join(names) if len(names) <= HEADLINE else f"{len(names)} columns"
    other = "other" if plan.k == 2 else "others"
    who = f"those of at least {plan.k - 1} {other}" if plan.unit else f"at least {plan.k - 1} {other}"
    apart = ", each taken alone" if plan.per_column else ", each block taken alone" if plan.apart else ""
    are = "column is published as it is" if len(kept) == 1 else "columns are published as they are"
    rest = f"{len(kept)} {are}" if kept else "no other is published as it is"
    if release.outcome.recoded:
        rest += f", {len(release.outcome.recoded)} recoded only"
    elif not kept:
        rest = "nothing else is published"
    return f"{release.outcome.records:,} records, each published like {who} on {on}{apart}; {rest}"


# --- where the release comes from ----------------------------------------------------------------------


def _provenance(release: Release, original: Frame) -> dict[str, Any]:
    plan = release.plan
    digest = hashlib.sha256()
    for name in release.columns:
        digest.update(str(name).encode() + b"\0")
        for cells in cells_in_pieces(original, name):
            digest.update(np.ascontiguousarray(cells).view(np.uint8).data)
    fingerprints = {"protected columns": digest.hexdigest()}
    if release.source is not None and release.source.is_file():
        fingerprints["file"] = sha256(release.source)
    roles = dict(plan.roles) | dict.fromkeys(release.columns, "quasi")
    # What the plan says beyond k, columns, method and seed; roles are told for each column.
    settings = [name for name in changed(plan) if name not in ("columns", "method", "seed", "roles")]
    more = {*settings} - {"parameters", "time_limit", "per_column"}
    return {
        "source": None if release.source is None else _named(release),
        "sha256": fingerprints,
        "plan": {f.name: getattr(plan, f.name) for f in fields(plan)},
        "settings": {name: getattr(plan, name) for name in settings},
        "roles": {str(name): ROLES.get(role := roles.get(name, "other"), role) for name in original.names},
        **machine("numpy", "scipy", "numba"),
        "replay": replay(release),
        "toml": plan.toml() if more or needs_file(plan) or {*plan.roles.values()} - {"quasi"} else None,
    }


def machine(*packages: str) -> dict[str, Any]:
    """What ran here: versions and the machine."""
    own = {"shoal": shoal.__version__, "python": platform.python_version()}
    return {
        "versions": own | {name: version(name) for name in packages},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def replay(release: Release) -> str:
    """The command, or the call, that makes the same release again."""
    if release.source is None:
        return as_python(release.plan, columns=release.columns, call=CALLS[release.outcome.engine])
    command = as_command(release.plan, _named(release), columns=release.columns)
    return command if release.outcome.engine == "memory" else f"{command} --engine {release.outcome.engine}"


def _named(release: Release) -> str:
    """Where the original lies, as it was asked for if that is a store."""
    address = getattr(release.origin, "address", "")
    return places.shown(address) if places.is_remote(address) else str(release.source)


# --- why this k, and how near to the best ------------------------------------------------------------------


def _why(
    release: Release, after: Measures, comparison: Comparison | None, bound: Mapping[str, Any] | None
) -> dict[str, Any]:
    k, linked = release.plan.k, after["linkage"]
    known = linked.detail["known"]
    more = f", and those of {', '.join(known)}, which are published as they are," if known else ""
    less = f" (knowing the protected columns alone: {shown(linked.detail['without_known'], 'share')})"
    reasons = [
        f"k = {k} promises that {release.promise}.",
        f"A guess within a group of {k} is right with a chance of {shown(1 / k, 'share')}. An intruder "
        f"who knows the true values of all {len(release.columns)} protected columns{more} and takes the "
        f"nearest published record is right for {shown(linked.overall, 'share')} of the records"
        f"{less if known else ''}.",
    ]
    if comparison is None:
        reasons.append("Other sizes were not compared; `shoal compare` and `shoal suggest` do that.")
        return {"reasons": reasons, "comparison": None}
    facts, required = comparison.facts(), required_by(release.plan)
    if bound is not None and not comparison.notes:
        facts["bounds"][str(k)] = max(facts["bounds"].get(str(k), 0.0), bound["information_loss"])
    reasons += [f"Other plans were {note}." for note in comparison.notes]
    like = [r for r in facts["runs"] if r["method"] == release.plan.method]
    own = [r["information_loss"] for r in like if (r["k"], r["requirements"]) == (k, required)]
    lost = shown(own[0] if own and comparison.notes else release.information_loss, "%")
    like = like if own or not comparison.notes else []  # there is nothing to compare with
    others = [r for r in like if r["k"] != k]
    reasons += [
        f"k = {entry['k']} would lose {shown(entry['information_loss'], '%')} instead of {lost}, and let "
        f"{shown(entry['risk'], 'share')} be linked."
        for entry in sorted(others, key=lambda r: r["k"])
    ]
    reasons += [
        f"With {entry['requirements'] or 'no requirement beyond k'} only, it would lose "
        f"{shown(entry['information_loss'], '%')} instead of {lost}."
        for entry in like
        if entry["k"] == k and entry["requirements"] != required
    ]
    return {"reasons": reasons, "comparison": facts}


def own_bound(release: Release) -> dict[str, Any] | None:
    """The bound that the method proved itself, as `exact` does; within strata it would say less."""
    least, loss = release.outcome.bound, release.information_loss
    if least is None or release.plan.strata:
        return None
    gap = 0.0 if loss <= least or release.outcome.proven else (loss / least - 1 if least > 0 else None)
    method, seconds = release.plan.method, release.seconds
    return {"information_loss": least, "gap": gap, "method": method, "seconds": seconds}


def _unbounded(release: Release) -> list[str]:
    """The note why there is no bound."""
    from shoal.bounds import no_bound

    large = f"the table has more than {BOUND_RECORDS:,} records: `shoal protect --bound` searches longer"
    why = no_bound(release.plan) or (large if len(release.labels) > BOUND_RECORDS else None)
    return [] if why is None else [f"no bound can be proven: {why}"]


def _bound(release: Release, bound: Bound | None, seconds: float | None) -> dict[str, Any] | None:
    """The proven least loss of any partition into groups of k, and how far above it this release lies."""
    if bound is None:
        if (known := own_bound(release)) is not None:
            return known
        if seconds is None or len(release.labels) > BOUND_RECORDS:
            return None
        try:
            bound = release.bound(seconds, BOUND_NEAR)
        except ShoalError:  # `_unbounded` says why
            return None
    return proof(bound, release.information_loss)


def proof(bound: Bound, loss: float) -> dict[str, Any]:
    """A bound as plain values, and how far above it this loss lies; None where no number says it."""
    above = bound.gap(loss)
    gap = above if np.isfinite(above) else None
    facts = {"information_loss": bound.information_loss, "gap": gap}
    return {**facts, "method": bound.method, "seconds": bound.seconds}
