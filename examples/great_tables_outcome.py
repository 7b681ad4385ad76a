"""The outcome of a release as a table fit for a paper, made by Great Tables; writes outcome.html."""

from pathlib import Path

from great_tables import GT

import shoal
from shoal.datasets import survey


def outcome_table(release):
    """What each column lost, under a title that says what is promised."""
    lost = release.utility().to_frame("pandas").query("column.notna()")
    chosen = lost[lost["measure"].isin(["information_loss", "means", "deviations"])]
    wide = chosen.pivot_table(index="column", columns="measure", values="value").reset_index()
    outcome = release.outcome
    sizes = f"groups of {outcome.smallest_group} to {outcome.largest_group}"
    return (
        GT(wide, rowname_col="column")
        .tab_header(f"{outcome.records:,} records, k = {outcome.k}, {sizes}", outcome.promise)
        .fmt_number([name for name in wide.columns if name != "column"], n_sigfig=3)
        .tab_source_note(
            f"{outcome.information_loss:.3g} % of the information lost; shoal {shoal.__version__}"
        )
    )


def main():
    release = shoal.microaggregate(survey(400), k=5, columns=["turnover", "wages", "profit"], method="mdav")
    Path("outcome.html").write_text(outcome_table(release).as_raw_html(), encoding="utf-8")
    print("outcome.html written")


if __name__ == "__main__":
    main()
