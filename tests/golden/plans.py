"""The golden cases: small tables made from a seed, a plan for each, and how it is carried out.

The tables need only Python's own `random()` and + - * /, so they are the same bits on every machine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

SCHOOLS = ["none", "primary", "secondary", "college"]  # in order
TRADES = ["baker", "clerk", "diver", "nurse, senior", "Müller"]  # in no order


@dataclass(frozen=True)
class Case:
    """One release: a table, a plan, and how it is carried out."""

    name: str
    table: str  # a key of TABLES
    plan: Mapping[str, Any]  # the fields of shoal.Plan
    records: int = 90
    seed: int = 1  # of the table
    only: tuple[str, ...] = ()  # the columns that the table keeps; none named: all
    given: str = "pyarrow"  # the kind of table that shoal gets: a key of `record.GIVEN`
    how: str = "run"  # a key of `record.HOW`
    write: tuple[str, ...] = ("csv", "parquet")  # endings of the files to write
    block_records: int | None = None  # the disk engine: the size of its blocks
    options: Mapping[str, Any] = field(default_factory=dict)  # how an odd CSV file is written

    @property
    def protected(self) -> tuple[str, ...]:
        """The columns that the plan names; nothing where it leaves the choice to shoal."""
        columns = self.plan.get("columns") or [n for block in self.plan.get("blocks", ()) for n in block]
        return (columns,) if isinstance(columns, str) else tuple(map(str, columns))


def points(records: int, seed: int) -> pa.Table:
    """Real numbers in three clusters, and one column with a long tail."""
    draw = Random(seed).random
    x, y, z = [], [], []
    for i in range(records):
        x.append(4.0 * (i % 3) + draw() + draw() - draw())
        y.append(0.5 * x[-1] - 3.0 * draw() * draw())
        z.append(1000.0 * draw() * draw() * draw() * draw())
    return pa.table({"x": x, "y": y, "z": z})


def people(records: int, seed: int) -> pa.Table:
    """Every type that a column may have, as a survey would have them."""
    draw = Random(seed).random
    less = lambda top: int(top * draw())  # noqa: E731

    def column(make: Callable[[int], Any], kind: Any) -> pa.Array:
        return pa.array([make(i) for i in range(records)], kind)

    return pa.table(
        {
            "id": column(lambda i: 1000 + i, pa.int64()),
            "region": column(lambda i: "NESW"[less(4)], pa.string()),
            "area": column(lambda i: "rare" if i % 41 == 7 else "ab"[less(2)], pa.string()),
            "weight": column(lambda i: 0.5 + 4.0 * draw(), pa.float64()),
            "count": column(lambda i: less(5), pa.int32()),  # a weight that may be 0
            "income": column(lambda i: 20000.0 * (0.2 + draw()) / (0.05 + draw()), pa.float64()),
            "height": column(lambda i: 150.0 + 40.0 * draw(), pa.float32()),
            "hours": column(lambda i: less(60) - 20, pa.int8()),
            "age": column(lambda i: 18 + less(70), pa.int16()),
            "rooms": column(lambda i: 1 + less(6), pa.uint8()),
            "steps": column(lambda i: less(30000), pa.int32()),
            "wealth": column(lambda i: (less(2_000_000) - 900_000) * 10**9, pa.int64()),
            "serial": column(lambda i: 2**64 - 1 - less(10**6), pa.uint64()),
            "whole": column(lambda i: float(less(50)), pa.float64()),  # whole numbers stored as doubles
            "debt": column(lambda i: 20.0 - less(40), pa.float64()),
            "tax": column(lambda i: Decimal(less(10**6)).scaleb(-2), pa.decimal128(12, 2)),
            "born": column(lambda i: dt.date(1940, 1, 1) + dt.timedelta(less(25000)), pa.date32()),
            "moved": column(lambda i: f"20{10 + less(15)}-0{1 + less(9)}-{10 + less(18)}", pa.string()),
            "seen": column(lambda i: 1_600_000_000_000_000 + less(10**14), pa.timestamp("us")),
            "tick": column(lambda i: 1_600_000_000_000_000_000 + less(10**15), pa.timestamp("ns")),
            "school": column(lambda i: SCHOOLS[less(4)], pa.string()),
            "rank": pa.DictionaryArray.from_arrays(
                column(lambda i: less(4), pa.int8()), pa.array(SCHOOLS), ordered=True
            ),
            "trade": column(lambda i: TRADES[less(5)], pa.string()),
            "answer": column(lambda i: ("yes", "no")[less(2)], pa.string()),
            "job": column(lambda i: draw() < 0.4, pa.bool_()),
        }
    )


def gappy(records: int, seed: int) -> pa.Table:
    """The same people; in some columns each eighth cell is a gap, and each fifteenth record has several."""
    draw = Random(seed + 1000).random
    table = people(records, seed)
    several = [draw() < 1 / 15 for _ in range(records)]
    for name in ("income", "height", "age", "steps", "tax", "born", "seen", "school", "trade", "job"):
        cells = [None if draw() < 0.125 or several[i] else c for i, c in enumerate(table[name].to_pylist())]
        filled = pa.array(cells, table[name].type)
        table = table.set_column(table.column_names.index(name), name, filled)
    return table


def ties(records: int, seed: int) -> pa.Table:
    """Few different records, each there many times."""
    draw = Random(seed).random
    rows = [(int(3 * draw()), int(3 * draw()), 0.5 * int(4 * draw())) for _ in range(records)]
    return pa.table(dict(zip("abc", map(list, zip(*rows)))))


def flat(records: int, seed: int) -> pa.Table:
    """One column that is the same for all records, in whole and in real numbers, and one that is not."""
    draw = Random(seed).random
    return pa.table(
        {"one": [7] * records, "same": [0.1] * records, "x": [draw() * draw() for _ in range(records)]}
    )


TABLES = {"points": points, "people": people, "gappy": gappy, "ties": ties, "flat": flat}

XYZ = ("x", "y", "z")
NUMBERS = ("income", "age", "hours")
MIXED = ("income", "age", "school", "trade", "job")
LEVELS = {"school": SCHOOLS}
TYPES = {"trade": "nominal"}
HOLES = ("income", "age", "steps", "born")

CLOSE = {"columns": ("x", "y"), "closeness": {"z": 0.3}}

#: Every method: what its plan says besides the columns, and the kind of table it gets.
METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "mdav": ({"k": 3}, "pandas"),
    "mdav1": ({"k": 4}, "pyarrow"),
    "mdav_generic": ({"k": 3}, "polars"),
    "dba1": ({"k": 3}, "pandas"),
    "dba2": ({"k": 5}, "pyarrow"),
    "mdav2": ({"k": 4}, "polars"),
    "diameter": ({"k": 3}, "pyarrow"),
    "centroid": ({"k": 3}, "pandas"),
    "md": ({"k": 4}, "pyarrow"),
    "cbfs": ({"k": 5}, "polars"),
    "vmdav": ({"k": 3}, "pyarrow"),
    "fuzzy": ({"k": 3, "seed": 5}, "pandas"),
    "igd": ({"k": 4}, "pyarrow"),
    "imhm": ({"k": 3}, "polars"),
    "k_ward": ({"k": 3}, "pyarrow"),
    "npn_mhm": ({"k": 3}, "pandas"),
    "mdav_mhm": ({"k": 4}, "pyarrow"),
    "md_mhm": ({"k": 3}, "polars"),
    "cbfs_mhm": ({"k": 3}, "pyarrow"),
    "pca_mhm": ({"k": 5}, "pandas"),
    "zscore_mhm": ({"k": 3}, "pyarrow"),
    "tsp_mhm": ({"k": 3}, "polars"),
    "mu_approx": ({"k": 3}, "pyarrow"),
    "pairwise_systematic": ({"k": 3}, "pandas"),
    "multi_dsort": ({"k": 4}, "pyarrow"),
    "repordmic": ({"k": 3, "seed": 3}, "polars"),
    "tfrp1": ({"k": 3}, "pyarrow"),
    "tfrp2": ({"k": 3}, "pandas"),
    "mst": ({"k": 3}, "pyarrow"),
    "mst_d": ({"k": 3}, "polars"),
    "mst_c": ({"k": 3}, "pyarrow"),
    "univariate": ({"k": 3, "columns": ("z",)}, "pandas"),
    "univariate_integer": ({"k": 3, "columns": ("age",)}, "pyarrow"),
    "optimise": ({"k": 3, "seed": 2}, "polars"),
    "auto": ({"k": 4, "seed": 1}, "pyarrow"),
    "exact": ({"k": 3}, "pyarrow"),
    "tclose_merge": ({"k": 3, **CLOSE}, "pandas"),
    "tclose_k_first": ({"k": 3, **CLOSE}, "pyarrow"),
    "tclose_t_first": ({"k": 3, **CLOSE}, "polars"),
}


def _methods() -> list[Case]:
    return [
        Case(
            f"method {key}",
            "people" if plan.get("columns") == ("age",) else "points",
            {"columns": XYZ, "method": key, **plan},
            given=given,
            how="microaggregate",
            seed=number,
        )
        for number, (key, (plan, given)) in enumerate(METHODS.items(), 1)
    ]


def _parameters() -> list[Case]:
    wanted = [
        ("vmdav gamma", "vmdav", {"gamma": 1.1}),
        ("igd start", "igd", {"start": "cbfs"}),
        ("imhm order", "imhm", {"order": "npn"}),
        ("repordmic", "repordmic", {"starts": 4, "insertion": "cheapest", "start": "mdav"}),
        ("optimise", "optimise", {"start": "md", "effort": 0.3}),
        ("mhm order", "npn_mhm", {"order": [*range(0, 60, 2), *range(1, 60, 2)]}),
    ]
    made = [
        Case(f"parameters {name}", "points", {"k": 3, "columns": XYZ, "method": key, "parameters": own}, 60)
        for name, key, own in wanted
    ]
    for cost in ("absolute", "range"):
        plan = {"k": 4, "columns": ("z",), "method": "univariate", "parameters": {"cost": cost}}
        made.append(Case(f"parameters univariate {cost}", "points", plan))
    return made


def _types() -> list[Case]:
    mixed = {"types": TYPES, "levels": LEVELS, "columns": MIXED}
    return [
        Case(f"type {name}", "people", {"k": 3, "columns": (name, "income"), "method": "mdav"}, given=given)
        for name, given in [
            ("height", "polars"),
            ("hours", "pandas"),
            ("rooms", "pyarrow"),
            ("wealth", "polars"),
            ("serial", "pyarrow"),
            ("tax", "polars"),
            ("born", "pandas"),
            ("seen", "pyarrow"),
            ("tick", "pandas"),
        ]
    ] + [
        Case("type whole doubles", "people", {"k": 3, "columns": "whole", "types": {"whole": "integer"}}),
        Case(
            "type whole doubles halves",  # means of four end in .5 now and then, also below zero
            "people",
            {
                "k": 4,
                "columns": ("whole", "debt"),
                "types": {"whole": "integer", "debt": "integer"},
                "method": "mdav",
            },
            given="polars",
        ),
        Case(
            "type text dates",
            "people",
            {"k": 3, "columns": ("moved", "age"), "types": {"moved": "date"}, "method": "cbfs"},
            given="pandas",
        ),
        Case("type decimal in pandas", "people", {"k": 4, "columns": ("tax", "age")}, 60, given="pandas"),
        Case("type mixed mdav_generic", "people", {"k": 3, "method": "mdav_generic", **mixed}),
        Case("type mixed vmdav", "people", {"k": 3, "method": "vmdav", **mixed}, given="polars"),
        Case("type mixed auto", "people", {"k": 4, **mixed}, given="pandas"),
        Case(
            "type stored categories",
            "people",
            {"k": 3, "columns": ("rank", "job", "age"), "method": "mdav_generic"},
            given="pandas",
        ),
        Case(
            "type said categories",
            "people",
            {
                "k": 3,
                "columns": ("answer", "count", "rooms", "age"),
                "types": {"answer": "boolean", "count": "nominal", "rooms": "ordinal"},
                "method": "vmdav",
            },
        ),
        Case("type one nominal", "people", {"k": 5, "columns": "trade", "types": TYPES}, 60),
    ]


def _gaps() -> list[Case]:
    mixed = {"columns": MIXED, "types": TYPES, "levels": LEVELS}
    return [
        Case("gaps group", "gappy", {"k": 3, "columns": HOLES, "method": "mdav"}, 150),
        Case("gaps impute", "gappy", {"k": 3, "columns": HOLES, "method": "mdav", "missing": "impute"}, 150),
        Case("gaps drop", "gappy", {"k": 3, "columns": HOLES, "missing": "drop"}, given="pandas"),
        Case("gaps group mixed", "gappy", {"k": 3, **mixed, "method": "mdav_generic"}, 150, given="polars"),
        Case("gaps impute mixed", "gappy", {"k": 3, **mixed, "missing": "impute"}, given="pandas nullable"),
        Case("gaps pandas", "gappy", {"k": 3, "columns": ("income", "height", "age")}, given="pandas"),
        Case(
            "gaps numpy", "gappy", {"k": 3, "method": "cbfs"}, 120, only=("income", "height"), given="numpy"
        ),
        Case("gaps one column", "gappy", {"k": 4, "columns": "income"}, given="polars"),
        Case(
            "gaps decimal and moment",
            "gappy",
            {"k": 3, "columns": ("tax", "seen"), "method": "md"},
            given="pyarrow",
        ),
    ]


def _strata_and_weights() -> list[Case]:
    mdav = {"columns": NUMBERS, "method": "mdav"}
    return [
        Case("strata", "people", {"k": 3, "columns": NUMBERS, "strata": "region"}, given="pandas"),
        Case("strata two", "people", {"k": 3, **mdav, "strata": ("region", "job")}, 150),
        Case(
            "strata merged",
            "people",
            {"k": 4, **mdav, "strata": ("area", "region"), "merge_small_strata": True},
        ),
        Case(
            "strata that is protected",
            "people",
            {"k": 3, "columns": ("rooms", "age"), "strata": "rooms", "merge_small_strata": True},
        ),
        Case(
            "strata and gaps",
            "gappy",
            {"k": 3, "columns": HOLES, "strata": "area"},
            120,
            only=(*HOLES, "area"),
        ),
        Case("weights", "people", {"k": 3, **mdav, "weight": "weight"}, given="polars"),
        Case("weights with zeros", "people", {"k": 3, "columns": NUMBERS, "weight": "count"}),
        Case(
            "weights strata categories",
            "gappy",
            {
                "k": 3,
                "columns": MIXED,
                "types": TYPES,
                "levels": LEVELS,
                "weight": "weight",
                "strata": "area",
                "merge_small_strata": True,
                "method": "vmdav",
            },
        ),
    ]


def _parts() -> list[Case]:
    return [
        Case(
            "per column", "people", {"k": 3, "columns": (*NUMBERS, "tax"), "per_column": True}, given="polars"
        ),
        Case(
            "per column mixed", "gappy", {"k": 4, "columns": ("income", "job", "steps"), "per_column": True}
        ),
        Case("blocks", "people", {"k": 3, "blocks": (("income", "age"), ("hours", "steps", "rooms"))}),
        Case(
            "blocks strata",
            "people",
            {"k": 3, "blocks": (("age",), ("income", "tax")), "strata": "area", "merge_small_strata": True},
            given="pandas",
        ),
    ]


def _published() -> list[Case]:
    columns = ("income", "height", "age", "tax", "born")
    plan = {"k": 5, "columns": columns, "method": "mdav"}
    return [
        *(
            Case(f"centroid {w}", "people", {**plan, "centroids": w})
            for w in ("mean", "median", "trimmed", "mode")
        ),
        Case(
            "centroid weighted", "people", {**plan, "centroids": "median", "weight": "weight"}, given="pandas"
        ),
        Case(
            "centroid per column",
            "gappy",
            {
                "k": 4,
                "columns": ("income", "age", "school"),
                "levels": LEVELS,
                "centroids": {"income": "trimmed", "age": "median", "school": "mode"},
                "method": "mdav_generic",
            },
        ),
        Case(
            "totals",
            "people",
            {"k": 3, "columns": (*NUMBERS, "rooms", "tax"), "method": "mdav", "preserve": "totals"},
        ),
        Case("totals auto gaps", "gappy", {"k": 4, "columns": ("age", "steps"), "preserve": "totals"}, 60),
        Case("totals one column", "people", {"k": 3, "columns": "wealth", "preserve": "totals"}),
    ]


def _distances() -> list[Case]:
    plan = {"k": 3, "columns": (*NUMBERS, "wealth"), "method": "mdav"}
    words = ("standard", "robust", "range", "rank", "none")
    return [
        *(Case(f"scaling {word}", "people", {**plan, "scaling": word}) for word in words),
        Case(
            "scaling per column",
            "gappy",
            {**plan, "scaling": {"income": "rank", "age": "range", "hours": "robust"}},
            given="polars",
        ),
        Case("log", "people", {**plan, "log": ("income", "wealth")}),
        Case("log one column", "people", {"k": 3, "columns": "wealth", "log": "wealth"}, 60),
        Case("column weights", "people", {**plan, "column_weights": {"income": 2.5, "age": 0.5, "hours": 0}}),
        Case("scaling rank auto", "people", {"k": 3, "columns": "income", "scaling": "rank"}, 60),
    ]


def _corners() -> list[Case]:
    return [
        Case("k 1", "points", {"k": 1, "columns": XYZ}, 60),
        Case("k 1 one column", "people", {"k": 1, "columns": "age", "method": "univariate"}, 60),
        Case("n below 2k", "points", {"k": 4, "columns": XYZ, "method": "mdav"}, 7),
        Case("n is k", "people", {"k": 60, "columns": NUMBERS}, 60),
        Case("large k", "points", {"k": 25, "columns": XYZ}, 120, given="polars"),
        Case("larger table", "points", {"k": 5, "columns": ("x", "z"), "seed": 9}, 300, given="pandas"),
        Case("ties auto", "ties", {"k": 4}, 120),
        Case("ties mdav", "ties", {"k": 5, "columns": ("a", "b"), "method": "mdav"}, 120, given="pandas"),
        Case("ties one column", "ties", {"k": 7, "columns": "c"}, 120, given="polars"),
        Case("constant", "flat", {"k": 3}, 60),
        Case("constant only", "flat", {"k": 3, "columns": ("one", "same"), "method": "mdav"}, 60),
        Case("one column real", "points", {"k": 3, "columns": "z"}, given="pandas"),
        Case("one column whole", "people", {"k": 3, "columns": "steps"}),
        Case("one column far", "people", {"k": 3, "columns": "serial"}, given="polars"),
        Case(
            "identifiers and roles",
            "people",
            {
                "k": 3,
                "roles": {
                    "id": "identifier",
                    "income": "quasi",
                    "age": "quasi",
                    "region": "stratum",
                    "tax": "other",
                },
            },
            only=("id", "region", "income", "age", "tax"),
            given="pandas",
        ),
        Case(
            "no column named",
            "people",
            {"k": 3, "method": "mdav", "roles": {"id": "identifier", "job": "confidential"}},
            60,
            only=("id", "region", "income", "steps", "tax", "job"),
        ),
    ]


def _inputs() -> list[Case]:
    return [
        Case("numpy", "points", {"k": 3}, given="numpy", how="microaggregate"),
        Case("numpy columns", "points", {"k": 3, "columns": (0, 2), "method": "mdav"}, given="numpy"),
        Case("numpy float32", "people", {"k": 3, "method": "mdav"}, only=("height",), given="numpy"),
        Case("numpy vector", "points", {"k": 3}, only=("z",), given="vector", how="microaggregate"),
        Case("numpy int", "people", {"k": 3}, only=("hours", "age", "steps"), given="numpy"),
        Case("numpy uint64", "people", {"k": 3, "method": "mdav"}, only=("serial",), given="numpy"),
        Case(
            "pandas nullable", "gappy", {"k": 3, "columns": ("age", "steps", "job")}, given="pandas nullable"
        ),
    ]


def _files() -> list[Case]:
    few = ("id", "region", "income", "age", "tax", "born", "trade")
    told = {"types": {"born": "date"}, "roles": {"id": "identifier"}}
    odd = {"delimiter": ";", "decimal": ",", "encoding": "cp1252", "eol": "\r\n", "gap": "NA"}
    return [
        Case(
            "csv",
            "gappy",
            {"k": 3, "columns": ("income", "age", "born"), **told},
            only=few,
            given="csv",
            how="microaggregate",
        ),
        Case(
            "csv odd",
            "gappy",
            {"k": 3, "columns": ("income", "age", "trade"), "types": TYPES, "method": "mdav_generic"},
            only=few,
            given="csv",
            options=odd,
            write=("csv", "tsv", "csv.gz", "parquet"),
        ),
        Case(
            "csv with a mark",
            "people",
            {"k": 3, "columns": ("income", "age")},
            60,
            only=few,
            given="csv",
            options={"encoding": "utf-8-sig", "delimiter": "|"},
            write=("csv", "tsv", "arrow"),
        ),
        Case(
            "csv drop",
            "gappy",
            {"k": 3, "columns": ("income", "tax"), "missing": "drop"},
            only=few,
            given="csv",
        ),
        Case(
            "tsv",
            "people",
            {"k": 3, "columns": ("income", "age"), "method": "md"},
            only=few,
            given="tsv",
            write=("tsv", "csv.zst", "csv"),
        ),
        Case(
            "csv.gz",
            "people",
            {"k": 3, "columns": ("income", "age"), "method": "mdav"},
            only=few,
            given="csv.gz",
            write=("csv.gz", "tsv.gz", "parquet"),
        ),
        Case(
            "parquet", "gappy", {"k": 3, "columns": HOLES}, given="parquet", write=("parquet", "arrow", "csv")
        ),
        Case(
            "arrow",
            "people",
            {"k": 3, "columns": ("tax", "seen", "height"), "method": "mdav"},
            given="arrow",
            write=("arrow", "feather", "parquet"),
        ),
        Case(
            "xlsx",
            "people",
            {"k": 3, "columns": ("income", "age")},
            60,
            only=few[:4],
            given="xlsx",
            write=("xlsx", "csv"),
        ),
        Case(
            "sav",
            "gappy",
            {"k": 3, "columns": ("income", "age")},
            60,
            only=few[:4],
            given="sav",
            write=("sav", "csv", "parquet"),
        ),
        Case(
            "dta",
            "gappy",
            {"k": 3, "columns": ("income", "age")},
            60,
            only=few[:4],
            given="dta",
            write=("dta", "csv", "parquet"),
        ),
    ]


def _plan_files() -> list[Case]:
    rich = {
        "k": 3,
        "columns": MIXED,
        "types": TYPES,
        "levels": LEVELS,
        "method": "vmdav",
        "parameters": {"gamma": 0.7},
        "roles": {"id": "identifier", "tax": "confidential"},
        "scaling": {"income": "robust"},
        "log": "income",
        "column_weights": {"age": 2.0},
        "centroids": {"income": "median"},
        "strata": "area",
        "merge_small_strata": True,
        "weight": "weight",
    }
    return [
        Case("plan file", "gappy", rich, 120, how="plan file"),
        Case(
            "plan file blocks",
            "people",
            {"k": 4, "blocks": (("income", "age"), ("hours",)), "seed": 4, "missing": "impute"},
            how="plan file",
            given="pandas",
        ),
        Case("plan file numpy", "points", {"k": 3, "columns": (2, 0)}, how="plan file", given="numpy"),
        Case(
            "plan file csv",
            "people",
            {"k": 3, "columns": ("age", "hours"), "preserve": "totals", "scaling": "range"},
            only=("id", *NUMBERS),
            how="plan file",
            given="csv",
        ),
    ]


def _disk() -> list[Case]:
    holes = {"k": 3, "columns": HOLES, "roles": {"id": "identifier"}}
    cases = [
        Case("disk", "points", {"k": 3, "columns": XYZ}, given="parquet", how="disk file"),
        Case(
            "disk method",
            "people",
            {"k": 4, "columns": NUMBERS, "method": "mdav"},
            given="parquet",
            how="disk file",
        ),
        Case("disk gaps", "gappy", holes, 120, given="parquet", how="disk folder"),
        Case(
            "disk blocks",
            "points",
            {"k": 3, "columns": XYZ, "seed": 6},
            300,
            given="parquet",
            how="disk file",
            block_records=60,
        ),
        Case(
            "disk blocks folder",
            "gappy",
            {**holes, "method": "mdav"},
            240,
            given="parquet folder",
            how="disk folder",
            block_records=50,
        ),
        Case(
            "disk blocks impute",
            "gappy",
            {
                "k": 3,
                "columns": ("age", "steps", "seen", "height"),
                "method": "vmdav",
                "missing": "impute",
                "parameters": {"gamma": 0.5},
            },
            240,
            given="parquet folder",
            how="disk file",
            block_records=50,
        ),
        Case(
            "disk blocks one column",
            "people",
            {"k": 3, "columns": "age", "method": "univariate_integer"},
            240,
            given="parquet",
            how="disk folder",
            block_records=40,
        ),
        Case(
            "disk blocks ties",
            "ties",
            {"k": 3, "columns": ("a", "b")},
            240,
            given="parquet",
            how="disk file",
            block_records=12,
        ),
    ]
    return [_keeping(replace(case, plan={**case.plan, "order": "keep"})) for case in cases]


def _keeping(case: Case) -> Case:
    """The case with a plan that keeps every other column, although some look like identifiers."""
    names = case.only or TABLES[case.table](case.records, case.seed).column_names
    others = [name for name in names if name not in (*case.protected, *case.plan.get("roles", ()))]
    return replace(case, plan={**case.plan, "keep": others})


def _shuffled() -> list[Case]:
    """Files as they are written without any wish: their rows stand in an order of their own."""
    cases = [
        Case(
            "shuffled csv",
            "gappy",
            {"k": 3, "columns": ("income", "age")},
            60,
            only=("id", "region", "income", "age", "tax"),
            given="csv",
            how="written",
            write=("csv",),
        ),
        Case(
            "shuffled parquet",
            "people",
            {"k": 4, "columns": NUMBERS, "method": "mdav"},
            how="written",
            write=("parquet",),
        ),
        Case("shuffled disk", "points", {"k": 3, "columns": XYZ}, given="parquet", how="disk file"),
        Case(
            "shuffled disk blocks folder",
            "gappy",
            {"k": 3, "columns": HOLES, "roles": {"id": "identifier"}, "method": "mdav"},
            240,
            given="parquet folder",
            how="disk folder",
            block_records=50,
        ),
    ]
    return [_keeping(case) for case in cases]


CASES: list[Case] = [
    *_methods(),
    *_parameters(),
    *_types(),
    *_gaps(),
    *_strata_and_weights(),
    *_parts(),
    *_published(),
    *_distances(),
    *_corners(),
    *_inputs(),
    *_files(),
    *_plan_files(),
    *_disk(),
    *_shuffled(),
]
