"""The one policy: what must be shown of a written release, on every engine, before it takes its name.

1. No row is lost and none is doubled.
2. Every combination that columns grouped together publish is counted, and at least k records (units, where
   the plan names them) share it.
3. Every group of records that share a combination holds what the plan requires beyond k.
4. Every cell that is not protected is what it was, and what was to be dropped is gone.

An engine gathers the evidence where its records lie: on whole tables (`count`, `compare`), batch by batch
(`stream`), or on a cluster. Here the evidence is judged.
"""

from collections.abc import Sequence
from typing import Any

from shoal.errors import CheckFailed
from shoal.verify.compare import Agreement
from shoal.verify.count import Finding
from shoal.verify.requirements import Held


def require(
    k: int,
    parts: Sequence[Sequence[Any]],
    findings: Sequence[Finding],
    agreement: Agreement,
    counted: str = "records",
    held: Sequence[Held] = (),
) -> None:
    """Raise unless every part was counted, no combination is short of k, and everything else agrees.

    `counted` says whom k counts: records, or units; `held` how requirements are held.
    """
    evidences: list[Finding | Agreement | Held] = [*findings, *held, agreement]
    for evidence in evidences:
        if not evidence.passed:
            raise CheckFailed(f"nothing is released: the check says {evidence}")
    found = {finding.columns: finding for finding in findings}
    for part in parts:
        finding = found.get(tuple(map(str, part)))
        wanted = (k, agreement.records, counted)
        if finding is None or (finding.k, finding.records, finding.counted) != wanted:
            raise CheckFailed(f"nothing is released: {', '.join(map(str, part))} were not counted")
