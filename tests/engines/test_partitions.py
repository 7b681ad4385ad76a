"""Tables in folders such as year=2020, on disk: what folders name are columns like others."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.engines.blocks.plan import BlockPlan
from shoal.engines.disk import engine as disk
from shoal.errors import InputError
from shoal.plan import Plan
from shoal.verify.files import check, check_original
from tests.io.test_hive import read_parts

QUASI = ["income", "age"]


def people(n=900):
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "n": np.arange(n) // 2,
            "income": rng.lognormal(3, 1, n),
            "age": rng.integers(0, 90, n),
            "year": np.sort(rng.choice([2019, 2020, 2021], n)),
            "region": rng.choice(["north", "S/W", "50 %"], n),
        }
    )
    return table.sort_by([("year", "ascending"), ("region", "ascending"), ("n", "ascending")])


@pytest.fixture
def source(tmp_path):
    ds.write_dataset(
        people(),
        tmp_path / "in",
        format="parquet",
        partitioning=["year", "region"],
        partitioning_flavor="hive",
    )
    return tmp_path / "in"


def protect(source, target, partition_by=None, blocks=None, **fields):
    plan = Plan(5, **{"columns": QUASI, "method": "mdav", "keep": "n", **fields})
    return disk.run(
        plan, source, target, block_records=300, batch_records=100, partition_by=partition_by, blocks=blocks
    )


def rows(table, names=None):
    return sorted(zip(*(table[name].to_pylist() for name in names or table.column_names)), key=repr)


@pytest.mark.parametrize("fields", [{}, {"strata": "region"}, {"order": "keep"}, {"missing": "drop"}])
def test_a_release_of_folders_is_that_of_a_plain_file(source, tmp_path, fields):
    """The same rows, whoever reads the folders; a stratum named by folders is one."""
    outcome = protect(source, tmp_path / "out", **fields)
    whole = read_parts(source)
    pq.write_table(whole, tmp_path / "plain.parquet")
    frozen = BlockPlan.from_json(json.loads((tmp_path / "out.private.json").read_text())["block_plan"])
    protect(tmp_path / "plain.parquet", tmp_path / "plain.out.parquet", blocks=frozen, **fields)
    assert outcome.blocks > 1
    released = ds.dataset(tmp_path / "out", partitioning="hive").to_table()
    assert rows(released) == rows(pq.read_table(tmp_path / "plain.out.parquet"))
    assert rows(released, ["n", "year", "region"]) == rows(whole, ["n", "year", "region"])
    assert outcome.kept == ("n", "year", "region")
    if "strata" in fields:
        assert check(released, 5, QUASI, strata=["region"])[0].passed
    if "order" in fields:
        assert read_parts(tmp_path / "out")["n"].equals(whole["n"])


def test_the_manifest_names_the_parts_in_their_folders(source, tmp_path):
    protect(source, tmp_path / "out")
    manifest = json.loads((tmp_path / "out/_manifest.json").read_text())
    found = {p.relative_to(tmp_path / "out").as_posix(): p for p in (tmp_path / "out").rglob("*.parquet")}
    assert {part["name"] for part in manifest["parts"]} == set(found)
    assert {name.rpartition("/")[0] for name in found} == {
        f"year={year}/region={region}"
        for year in (2019, 2020, 2021)
        for region in ("north", "S%2FW", "50 %25")
    }
    for part in manifest["parts"]:
        assert hashlib.sha256(found[part["name"]].read_bytes()).hexdigest() == part["sha256"]
        assert pq.read_schema(found[part["name"]]).names == ["n", *QUASI]
    assert sum(part["records"] for part in manifest["parts"]) == 900


def test_a_folder_tells_no_more_than_its_cell(source, tmp_path):
    """Within a folder rows lie in an order that has nothing of the input's, and hangs on the plan."""
    orders = []
    for seed in (0, 1):
        protect(source, tmp_path / f"out{seed}", seed=seed)
        orders.append(
            [p["n"].to_numpy() for p in map(pq.read_table, sorted(tmp_path.glob(f"out{seed}/*/*/*")))]
        )
    for one, other in zip(*orders):
        assert len(one) > 60
        assert abs(np.corrcoef(one, np.arange(len(one)))[0, 1]) < 0.35  # four deviations of a shuffle
        assert not np.array_equal(one, other)


def test_columns_named_by_folders_take_roles(source, tmp_path):
    """An identifier is dropped, also from the names; a unit too; a protected one is a column of the files."""
    protect(source, tmp_path / "a", roles={"region": "identifier"})
    assert sorted(path.name for path in (tmp_path / "a").iterdir() if path.is_dir()) == [
        "year=2019",
        "year=2020",
        "year=2021",
    ]
    assert "region" not in read_parts(tmp_path / "a").column_names
    outcome = protect(source, tmp_path / "b", columns=[*QUASI, "year", "region"], method="mdav_generic")
    assert not [path for path in (tmp_path / "b").iterdir() if path.is_dir()]
    assert "folders named cells of 'year', 'region', changed here: now a column of the files" in outcome.notes
    assert check(read_parts(tmp_path / "b"), 5, [*QUASI, "year", "region"])[0].passed
    protect(source, tmp_path / "c.parquet", strata="year")
    assert pq.read_table(tmp_path / "c.parquet").column_names == ["n", *QUASI, "year", "region"]


def test_other_columns_name_folders_if_asked(source, tmp_path):
    protect(source, tmp_path / "a", partition_by="region")
    assert {path.name for path in (tmp_path / "a").glob("*=*")} == {
        "region=north",
        "region=S%2FW",
        "region=50 %25",
    }
    assert rows(read_parts(tmp_path / "a"), ["n", "year", "region"]) == rows(
        people(), ["n", "year", "region"]
    )
    protect(source, tmp_path / "b", partition_by=[])
    assert not list((tmp_path / "b").glob("*=*"))


@pytest.mark.parametrize("fields", [{}, {"unit": "n", "keep": ()}, {"order": "keep"}])
def test_every_row_of_such_folders_is_found_again(tmp_path, fields):
    """Also where columns that name folders stood elsewhere in the original."""
    table = people().take(np.random.default_rng(0).permutation(900)).select(["region", "n", *QUASI, "year"])
    pq.write_table(table, tmp_path / "in.parquet")
    protect(tmp_path / "in.parquet", tmp_path / "out", partition_by=["region", "year"], **fields)
    plan = Plan(5, **{"columns": QUASI, "method": "mdav", "keep": "n", **fields})
    found = check_original(tmp_path / "out", tmp_path / "in.parquet", QUASI, plan=plan)
    assert (found.passed, found.by_row) == (True, True), found
    assert (found.units is not None) == ("unit" in fields)
    part = min((tmp_path / "out").rglob("part-*.parquet"))
    spoilt = pq.read_table(part)
    income = np.r_[1e9, spoilt["income"].to_numpy()[1:]]
    pq.write_table(spoilt.set_column(spoilt.column_names.index("income"), "income", pa.array(income)), part)
    found = check_original(tmp_path / "out", tmp_path / "in.parquet", QUASI, plan=plan)
    assert not found.passed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partition_by": ["age"]}, "column 'age' is protected or changed, and folders would tell its cells"),
        ({"partition_by": ["yeer"]}, "there is no column 'yeer': did you mean 'year'"),
        ({"partition_by": ["year", "year"]}, "column 'year' is named twice, or is not published"),
        ({"partition_by": ["n"], "roles": {"n": "identifier"}, "keep": ()}, "'n' is named twice, or is not"),
        ({"partition_by": ["w"]}, "column 'w' is double: only whole numbers and texts can name folders"),
    ],
)
def test_what_cannot_name_folders_is_said_before_the_work(tmp_path, options, said):
    table = people().append_column("w", pa.array(np.ones(900)))
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InputError, match=said):
        protect(tmp_path / "in.parquet", tmp_path / "out", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_one_file_has_no_folders(source, tmp_path):
    with pytest.raises(InputError, match="is one file, and has no folders to name: name a folder"):
        shoal.protect_files(source, tmp_path / "out.parquet", 5, columns=QUASI, partition_by="year")


def test_the_command_line_names_folders(source, tmp_path):
    asked = ["protect", str(source), "-k", "5", "-c", "income,age", "-m", "mdav", "--keep", "n"]
    done = CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "out"), "--partition-by", "region,year"])
    assert done.exit_code == 0, done.output
    assert len(list((tmp_path / "out").glob("region=*/year=*/part-*.parquet"))) == 9
    plain = tmp_path / "in.csv"
    plain.write_text("income,age\n1,2\n")
    done = CliRunner().invoke(
        app, ["protect", str(plain), "-k", "5", "-c", "income", "--partition-by", "age"]
    )
    assert done.exit_code == 2
    assert "--partition-by makes folders of Parquet files: add --engine disk" in done.output
