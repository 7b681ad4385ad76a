"""A pandera schema that holds before a release, and after it.

What the release may not break stands in one place: types, ranges, categories. Means of a group lie within
its values, so ranges hold; k itself is one more check of the whole table.
"""

import pandera.pandas as pa

import shoal
from shoal.datasets import survey

PROTECTED = ["turnover", "wages", "employees"]
SECTORS = ["agriculture", "construction", "hospitality", "manufacturing", "retail", "services"]
FIRMS = pa.DataFrameSchema(
    {
        "region": pa.Column(str),
        "sector": pa.Column(str, pa.Check.isin(SECTORS)),
        "employees": pa.Column("int64", pa.Check.ge(1)),
        "turnover": pa.Column("int64", pa.Check.ge(0)),
        "wages": pa.Column("int64", pa.Check.ge(0)),
    },
    strict="filter",  # other columns are not published
)


def safe_schema(k):
    """The same schema, and every published combination at least k times."""
    shared = pa.Check(lambda table: table.groupby(PROTECTED).size().min() >= k, name=f"at least {k} share")
    return pa.DataFrameSchema(FIRMS.columns, checks=[shared], strict=FIRMS.strict)


def main(k=5):
    firms = FIRMS.validate(survey(400).to_pandas())
    release = shoal.microaggregate(firms, k, columns=PROTECTED, method="mdav")
    safe_schema(k).validate(release.table)
    print(f"{len(release.table)} firms keep their schema: {', '.join(FIRMS.columns)}; k={k} holds")


if __name__ == "__main__":
    main()
