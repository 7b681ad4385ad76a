"""The last step of a scikit-learn pipeline publishes what the steps before it made.

`Microaggregator` is transductive: `fit_transform` gives the release of the rows that it was fitted to, and
`transform` refuses any others, because new rows carry no promise of k.
"""

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

import shoal
from shoal.datasets import survey


def protected(table, k=5):
    """The amounts imputed and protected together, all other columns as they were."""
    amounts = ["turnover", "wages", "assets", "profit"]
    steps = Pipeline([("fill", SimpleImputer()), ("protect", shoal.Microaggregator(k, method="mdav"))])
    columns = ColumnTransformer(
        [("amounts", steps, amounts)], remainder="passthrough", verbose_feature_names_out=False
    )
    return columns.set_output(transform="pandas").fit_transform(table), amounts


def main():
    table = survey(300).to_pandas()
    table.loc[::50, "profit"] = None
    safe, amounts = protected(table)
    smallest = safe.groupby(amounts).size().min()
    print(f"{len(safe)} rows; every combination of {', '.join(amounts)} is shared by {smallest} or more")


if __name__ == "__main__":
    main()
