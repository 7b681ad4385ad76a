"""A table of DuckDB, protected, and back into the database.

DuckDB sends a query as a stream of Arrow and reads a table by its name, so nothing is written in between.
"""

import duckdb

import shoal
from shoal.datasets import survey


def protect(connection, query, target, k, columns):
    """Protect what a query gives, and make a table of it; returns the release."""
    release = shoal.microaggregate(connection.sql(query), k, columns=columns, method="mdav")
    published = release.table  # DuckDB finds it by this name
    # The order of rows would tell whose each is: shuffle, as `release.write` does with files.
    connection.sql(f"create table {target} as select * from published order by random()")
    assert connection.table(target).shape[0] == published.num_rows
    return release


def main():
    connection = duckdb.connect()
    connection.register("firms", survey(500))
    columns = ["turnover", "wages", "profit"]
    chosen = "select sector, turnover, wages, profit from firms where turnover > 50"
    release = protect(connection, chosen, "safe", 5, columns)
    counts = connection.sql(f"select count(*) from safe group by {', '.join(columns)}").fetchall()
    print(f"{release.information_loss:.2f} % lost; {min(counts)[0]} firms or more share each combination")
    print(connection.sql("select sector, sum(wages) as wages from safe group by sector order by sector"))


if __name__ == "__main__":
    main()
