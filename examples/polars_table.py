"""A polars table in, a polars table out: types, categories and gaps stay as they were."""

import polars as pl

import shoal
from shoal.datasets import survey


def main():
    firms = pl.from_arrow(survey(500)).with_columns(
        pl.col("sector").cast(pl.Categorical),
        founded=pl.date(1990, 1, 1) + pl.duration(days=pl.int_range(pl.len()) * 7),
        profit=pl.when(pl.int_range(pl.len()) % 40 == 0).then(None).otherwise(pl.col("profit")),
    )
    columns = ["turnover", "wages", "profit", "founded"]
    release = shoal.microaggregate(firms, k=5, columns=columns, method="mdav")
    safe = release.table
    assert isinstance(safe, pl.DataFrame)
    assert safe.schema == firms.schema
    assert safe["profit"].null_count() == firms["profit"].null_count()

    print(release)
    print(release.utility().to_frame("polars").filter(pl.col("measure") == "information_loss"))
    by_sector = safe.group_by("sector").agg(pl.col("turnover").sum().round(1)).sort("sector")
    print(by_sector)


if __name__ == "__main__":
    main()
