"""What requirements mend and what they cost: groups that fail before and after, loss and processor time.

python -m benchmarks.requirements [--tables "census;survey"] [-k 3,5] [--rules "diversity=2;closeness=0.2"]
                                  [--seconds 600] [--tclose]

Each row is saved as soon as it is made; after `--seconds` of processor time no further row is begun. With
`--resume`, rows that are saved already are kept and not made again. With `--tclose`, a row of
closeness also has the least loss of the three methods that make groups t-close, and by which of them.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import pandas as pd

import shoal
from benchmarks._common import DATA, OUT, header, save, table
from shoal.frame.column import Column, categories
from shoal.grouping.partition import Partition
from shoal.plan.rules import read_rule
from shoal.stages.require import failing

#: table -> protected columns, a confidential column without order, one of numbers, a magnitude.
TABLES: dict[str, tuple[list[str], str | None, str | None, str]] = {
    "adult": (["age", "fnlwgt", "education-num", "hours-per-week"], "prediction", None, "fnlwgt"),
    "adult, occupation": (
        *(["age", "fnlwgt", "education-num", "hours-per-week"], "occupation"),
        *(None, "fnlwgt"),
    ),
    "household": (["age", "expend", "savings"], "hhcivil", "income", "expend"),
    "labour_force": (["AGE", "MONEY", "ASSETS", "DEBTS"], "EDUC1", "INCOME", "ASSETS"),
    "census": (["AFNLWGT", "AGI", "EMCONTRB", "PTOTVAL", "TAXINC", "POTHVAL"], None, "FEDTAX", "AGI"),
    "tarragona": (["FIXED.ASSETS", "CURRENT.ASSETS", "TREASURY", "SALES"], None, "NET.PROFIT", "SALES"),
    "survey": (["turnover", "wages", "assets"], "sector", "profit", "turnover"),
}
RULES = (
    *("diversity=2", "diversity=3", "diversity=entropy:2", "closeness=0.1", "closeness=0.2"),
    *("closeness=0.3", "dominance=1:80", "dominance=p:10"),
)
TCLOSE = ("tclose_merge", "tclose_k_first", "tclose_t_first")


def data_of(name: str) -> pd.DataFrame:
    if name == "survey":
        return shoal.datasets.survey(1000).to_pandas()
    return pd.read_csv(DATA / f"{name.partition(',')[0]}.csv")


def failures(labels: Any, word: str, rule: str, column: Column) -> int:
    """How many groups do not hold a rule."""
    asked = read_rule(word, column.name, rule)
    more = (None, None) if word == "dominance" else ()
    requirement = shoal.requirements()[word].of(asked, column, *more)  # type: ignore[attr-defined]
    return int(failing(Partition(labels), [requirement]).sum())


def measured(name: str, k: int, rules: list[str], tclose: bool = False) -> Any:
    """A row for each rule that fits the table."""
    columns, nominal, number, magnitude = TABLES[name]
    data, spent = data_of(name), time.process_time()
    kept = [c for c in (nominal, number) if c is not None]
    data = data[[*columns, *(c for c in kept if c not in columns)]]
    plain = shoal.microaggregate(data, k, columns=columns)
    spent = time.process_time() - spent
    for asked in rules:
        word, _, rule = asked.partition("=")
        on = magnitude if word == "dominance" else nominal or number
        types = {on: "nominal"} if on == nominal else {}
        codes = np.unique(data[on].astype(str), return_inverse=True)[1]
        values = data[on].to_numpy(float) if on != nominal else None
        column = (
            categories(on, "nominal", codes, None) if values is None else Column(on, "continuous", values)
        )
        row = {"table": name, "k": k, "asked": asked, "rule": f"{word} {on}={rule}"}
        row |= {"groups": len(set(plain.labels.tolist())), "fail": failures(plain.labels, word, rule, column)}
        began = time.process_time()
        try:
            held = shoal.microaggregate(data, k, columns=columns, types=types, **{word: {on: rule}})
        except shoal.ShoalError as error:
            yield {
                **row,
                "fail after": "",
                "lost %": "",
                "lost after %": str(error),
                "CPU s": "",
                "after s": "",
            }
            continue
        after = time.process_time() - began
        others = {}
        for method in TCLOSE if tclose and word == "closeness" and ":" not in rule else ():
            other = shoal.microaggregate(
                data, k, columns=columns, types=types, closeness={on: rule}, method=method
            )
            others[method] = other.information_loss
        best = min(others, key=others.__getitem__, default="")
        row |= {"best of tclose %": f"{others[best]:.3f}", "by": best} if others else {}
        yield {
            **row,
            "fail after": failures(held.labels, word, rule, column),
            "lost %": f"{plain.information_loss:.3f}",
            "lost after %": f"{held.information_loss:.3f}",
            "CPU s": f"{spent:.1f}",
            "after s": f"{after:.1f}",
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=";".join(TABLES), help="names with semicolons between")
    parser.add_argument("-k", default="3,5,10")
    parser.add_argument("--rules", default=";".join(RULES), help="with semicolons between")
    parser.add_argument("--seconds", type=float, default=600.0, help="of processor time")
    parser.add_argument("--resume", action="store_true", help="keep the rows that are saved already")
    parser.add_argument("--tclose", action="store_true", help="beside the methods that make groups t-close")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if given.resume and (OUT / "requirements.json").exists():
        rows = json.loads((OUT / "requirements.json").read_text())["outcome"]
    made = {(row["table"], row["k"], row["asked"]) for row in rows}
    print(header())
    for name in given.tables.split(";"):
        for k in map(int, given.k.split(",")):
            rules = [rule for rule in given.rules.split(";") if (name, k, rule) not in made]
            for row in measured(name, k, rules, given.tclose) if rules else ():
                rows.append(row)
                save("requirements", rows)
                print(row, flush=True)
                if time.process_time() > given.seconds:
                    break
            if time.process_time() > given.seconds:
                break
    print(table(rows))


if __name__ == "__main__":
    main()
