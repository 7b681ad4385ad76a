"""The report's model: plain values, the same for every rendering, fit for JSON as they are.

The public edition is built from a list of what may be told, not by striking out what may not: a fact that
is added later stays inside until somebody decides otherwise.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

import shoal
from shoal.errors import InputError, ShoalError
from shoal.frame.frame import Frame
from shoal.grouping.registry import methods
from shoal.io.source import frame_of
from shoal.measures.measure import plain, shown
from shoal.measures.pair import cells, pair
from shoal.measures.risk import risk
from shoal.measures.utility import utility
from shoal.report.audit import audit
from shoal.report.pictures import distributions, record_map

SCHEMA, VERSION = "shoal-report", "1.0"
EDITIONS = ("internal", "public")
BOUND_SECONDS = 10.0  # what a report may spend on the proven bound
BOUND_RECORDS = 50_000  # above which it goes without
SUBGROUP_LEVELS = 20  # categories up to which a kept text column serves to compare subgroup means
ROLES = {
    "identifier": "identifier: left out",
    "quasi": "quasi: grouped on and replaced",
    "confidential": "confidential: kept, and watched",
    "weight": "weight: kept",
    "stratum": "stratum: kept, groups stay within it",
    "other": "other: kept as it is",
}
RECORDS = ("version", "sha256")  # what a plan records of itself, without a say in the release
PUBLIC_OUTCOME = ("records", "columns", "groups", "smallest_group", "information_loss", "rounding_loss", "k")
PUBLIC_UTILITY = (
    "information_loss",
    "means",
    "variances",
    "quantiles",
    "covariances",
    "correlations",
    "eigenvalues",
    "hellinger",
    "changed",
    "pmse_logistic",
    "pmse_tree",
    "subgroups",
)


def build(
    release: Any,
    edition: str = "internal",
    *,
    comparison: Any = None,
    confidential: Sequence[Any] | Any | None = None,
    formula: str | None = None,
    subgroups: Sequence[Any] | Any | None = None,
    sums: Sequence[str] = (),
    bound: Any = None,
    bound_time: float | None = BOUND_SECONDS,
) -> dict[str, Any]:
    """All that a report says about a release.

    `comparison` (from `shoal.compare`) answers "why this k" with figures; `confidential`, `formula` and
    `subgroups` are those of `shoal.risk` and `shoal.utility`; `sums` names totals that should still add
    up, such as "total = wages + profit". `bound` is what `Release.lower_bound` found; without it `bound_time`
    seconds are spent on finding one.
    """
    if edition not in EDITIONS:
        raise InputError(f"a report's edition is 'internal' or 'public', not {edition!r}")
    if release.original is None:
        raise InputError("this release does not know its original table, which a report compares it with")
    names, plan = list(release.columns), release.plan
    original = release.original
    if confidential is None:
        confidential = [name for name, role in _told(plan).items() if role == "confidential"] or None
    lost = utility(
        original,
        release.table,
        names,
        formula=formula,
        subgroups=_subgroups(original, names) if subgroups is None else subgroups,
        seed=release.plan.seed,
    )
    used = [methods()[key] for key in release.used or (release.plan.method,)]
    outcome = release.summary() | {
        "method_title": ", ".join(info.title for info in used),
        "paper": ", ".join(dict.fromkeys(info.paper for info in used)),
    }
    if edition == "public":
        return plain(_public(outcome, lost))
    sample = 10_000 if len(release.labels) <= 100_000 else 2_000
    options = {
        "confidential": confidential,
        "per_column": release.labels.ndim > 1,
        "sample": sample,
        "seed": release.plan.seed,
    }
    before = risk(original, original, names, **options)
    after = risk(original, release.table, names, **options)
    both = pair(original, release.table, names)
    least = _bound(release, bound, bound_time)
    found = {
        "schema": SCHEMA,
        "version": VERSION,
        "edition": edition,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "outcome": outcome,
        "provenance": _provenance(release),
        "why_k": _why(release, after, comparison, least),
        "bound": least,
        "utility": lost.facts(),
        "risk": {"before": before.facts(), "after": after.facts()},
        "distributions": distributions(both),
        "map": record_map(both, release.labels),
        "audit": audit(both, original, release.table, sums),
        "notes": list(dict.fromkeys([*lost.notes, *after.notes])),
    }
    return plain(found)


def _public(outcome: Mapping[str, Any], lost: Any) -> dict[str, Any]:
    """What was done and what was lost, rounded; nothing by which to undo it.

    No seed, no risk, no source, no value of the original: differences of many exact statistics, or of means
    in small subgroups, would tell single values.
    """
    told = {key: outcome[key] for key in PUBLIC_OUTCOME}
    told |= {key: outcome[key] for key in ("method_title", "paper", "promise", "per_column")}
    told |= {key: _rounded(told[key]) for key in ("information_loss", "rounding_loss")}
    measures = {}
    for key in PUBLIC_UTILITY:
        if key not in lost:
            continue
        facts = lost[key].facts()
        measures[key] = {
            "title": facts["title"],
            "meaning": facts["meaning"],
            "unit": facts["unit"],
            "overall": _rounded(facts["overall"]),
            "columns": {name: _rounded(value) for name, value in facts["columns"].items()},
        }
    if "correlations" in lost:
        detail = lost["correlations"].detail
        change = np.asarray(detail["after"]) - np.asarray(detail["before"])
        measures["correlations"]["detail"] = {
            "names": detail["names"],
            "change": [[round(value, 2) for value in row] for row in change.tolist()],
        }
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "edition": "public",
        "created": datetime.now(UTC).date().isoformat(),
        "outcome": told,
        "utility": measures,
    }


def _rounded(value: float | None) -> float | None:
    """Two digits that mean something, and nothing below a thousandth."""
    return None if value is None else float(f"{round(value, 3):.2g}")


def _subgroups(original: Any, protected: Sequence[Any]) -> list[Any] | None:
    """Kept text columns with few values, such as a region or a sector."""
    frame = frame_of(original)
    found = []
    for name in frame.names:
        if name not in protected and name not in frame.numeric():
            values = cells(frame, name)
            if values.dtype.kind == "U" and 1 < len(np.unique(values)) <= SUBGROUP_LEVELS:
                found.append(name)
    return found or None


# --- where the release comes from ----------------------------------------------------------------------


def _provenance(release: Any) -> dict[str, Any]:
    plan = release.plan
    frame = frame_of(release.original)
    digest = hashlib.sha256()
    for name in release.columns:
        digest.update(str(name).encode() + b"\0")
        digest.update(np.ascontiguousarray(cells(frame, name)).tobytes())
    fingerprints = {"protected columns": digest.hexdigest()}
    if release.source is not None and release.source.exists():
        with open(release.source, "rb") as handle:
            fingerprints["file"] = hashlib.file_digest(handle, "sha256").hexdigest()
    return {
        "source": None if release.source is None else str(release.source),
        "sha256": fingerprints,
        "plan": {f.name: _setting(getattr(plan, f.name)) for f in fields(plan)},
        "settings": {name: _setting(getattr(plan, name)) for name in _settings(plan)},
        "roles": _roles(release, frame),
        "versions": {"shoal": shoal.__version__, "python": platform.python_version()}
        | {name: version(name) for name in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "replay": replay(release),
        "toml": plan.toml() if _special(plan) else None,
    }


def _setting(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _setting(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_setting(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _roles(release: Any, frame: Frame) -> dict[str, str]:
    """What each column is: as the plan says, else protected or kept."""
    told = _told(release.plan) | dict.fromkeys(release.columns, "quasi")
    return {str(name): ROLES.get(told.get(name, "other"), str(told.get(name))) for name in frame.names}


def _told(plan: Any) -> dict[Any, str]:
    """The roles that the plan names."""
    return dict(getattr(plan, "roles", None) or {})


def _special(plan: Any) -> set[str]:
    """What the plan says beyond columns, k, method and seed."""
    told = {f.name for f in fields(plan) if getattr(plan, f.name) != _default(f)}
    if set(_told(plan).values()) <= {"quasi"}:
        told.discard("roles")
    return told - {"k", "columns", "method", "parameters", "seed", "time_limit", "per_column", *RECORDS}


def _settings(plan: Any) -> list[str]:
    """The same with the parameters and limits, in the plan's order; roles are told for each column."""
    told = {*_special(plan), *(n for n in ("parameters", "time_limit", "per_column") if getattr(plan, n))}
    return [f.name for f in fields(plan) if f.name in told - {"roles"}]


def _default(f: Any) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def replay(release: Any) -> str:
    """The command, or the call, that makes the same release again."""
    plan = release.plan
    if _special(plan):
        return f"shoal protect {shlex.quote(str(release.source or 'FILE'))} --plan plan.toml"
    if release.source is None:
        words = [f"k={plan.k}", f"columns={list(release.columns)!r}", f"method={plan.method!r}"]
        words.append(f"seed={plan.seed}")
        if plan.time_limit is not None:
            words.append(f"time_limit={plan.time_limit}")
        if plan.per_column:
            words.append("per_column=True")
        if plan.parameters:
            words.append(f"parameters={dict(plan.parameters)!r}")
        return f"shoal.microaggregate(data, {', '.join(words)})"
    words = ["shoal", "protect", str(release.source), "-k", str(plan.k), "-m", plan.method]
    words += ["--seed", str(plan.seed)]
    for name in release.columns:
        words += ["-c", str(name)]
    for name, value in plan.parameters.items():
        words += ["--set", f"{name}={_typed(value)}"]
    if plan.time_limit is not None:
        words += ["--time-limit", str(plan.time_limit)]
    if plan.per_column:
        words.append("--per-column")
    return shlex.join(words)


def _typed(value: Any) -> str:
    """A parameter as one would type it."""
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


# --- why this k, and how near to the best ------------------------------------------------------------------


def _why(release: Any, after: Any, comparison: Any, bound: Mapping[str, Any] | None) -> dict[str, Any]:
    k, linked = release.plan.k, after["linkage"]
    reasons = [
        f"k = {k} promises that {release.promise}.",
        f"A guess within a group of {k} is right with a chance of {shown(1 / k, 'share')}. An intruder "
        "who knows "
        f"the true values of all {len(release.columns)} columns and takes the nearest published record "
        "is right "
        f"for {shown(linked.overall, 'share')} of the records.",
    ]
    facts = None
    if comparison is not None:
        facts = comparison.facts()
        if bound is not None:
            least = facts["bounds"].get(str(k), 0.0)
            facts["bounds"][str(k)] = max(least, bound["information_loss"])
        own = [r for r in facts["runs"] if r["method"] == release.plan.method]
        for entry in sorted(own, key=lambda r: r["k"]):
            if entry["k"] != k:
                reasons.append(
                    f"k = {entry['k']} would lose {shown(entry['information_loss'], '%')} instead of "
                    f"{shown(release.information_loss, '%')}, and let {shown(entry['risk'], 'share')} "
                    "be linked."
                )
    else:
        reasons.append("Other sizes were not compared; `shoal compare` and `shoal suggest` do that.")
    return {"reasons": reasons, "comparison": facts}


def _bound(release: Any, bound: Any, seconds: float | None) -> dict[str, Any] | None:
    """The proven least loss of any partition into groups of k, and how far above it this release lies."""
    if bound is None:
        if seconds is None or len(release.labels) > BOUND_RECORDS:
            return None
        try:
            bound = release.lower_bound(seconds)
        except ShoalError:  # categories, gaps, weights or blocks: there is no bound to show
            return None
    gap = bound.gap(release.information_loss)
    return {
        "information_loss": bound.information_loss,
        "gap": gap if np.isfinite(gap) else None,
        "method": bound.method,
        "seconds": bound.seconds,
    }
