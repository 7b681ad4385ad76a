"""Why a measured figure differs from the printed one by more than 2 %: one line each."""

from __future__ import annotations


def explain(method: str, dataset: str, k: int, verdict: str) -> str:
    return "NOT EXPLAINED"
