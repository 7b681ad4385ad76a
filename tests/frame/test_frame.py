"""The same release for every kind of table: same kind back, same rows, columns and types."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.frame.frame import Frame

CONSTRUCTORS = {
    "pyarrow": lambda table: table,
    "chunked pyarrow": lambda table: pa.concat_tables([table[:7], table[7:20], table[20:]]),
    "pandas": lambda table: table.to_pandas(),
    "odd pandas index": lambda table: table.to_pandas().set_index(np.repeat(3, len(table))),
    "pandas nullable": lambda table: table.to_pandas().convert_dtypes(),
    "pandas pyarrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


@pytest.fixture(params=CONSTRUCTORS)
def construct(request):
    return CONSTRUCTORS[request.param]


def small_types(table):
    """The survey with narrow and unsigned number types among the others."""
    kinds = {"employees": pa.int16(), "turnover": pa.uint32(), "profit": pa.float32()}
    for name, kind in kinds.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    return table


def types_of(table):
    return table.dtypes.to_dict() if isinstance(table, pd.DataFrame) else dict(zip(*_names_and_types(table)))


def _names_and_types(table):
    schema = table.schema
    return (schema.names, schema.types) if isinstance(table, pa.Table) else (schema.names(), schema.dtypes())


def test_every_kind_comes_back_as_itself(construct):
    table = construct(small_types(survey(60)))
    release = shoal.microaggregate(table, 4, method="mdav")
    assert type(release.table) is type(table)
    assert types_of(release.table) == types_of(table)
    assert len(release.table) == 60
    expected = shoal.microaggregate(small_types(survey(60)), 4, method="mdav")
    assert np.array_equal(release.labels, expected.labels)
    for name in ("employees", "turnover", "profit", "assets"):
        assert np.array_equal(np.asarray(release.table[name], float), np.asarray(expected.table[name], float))
    assert list(release.table["sector"]) == list(table["sector"])
    if isinstance(table, pd.DataFrame):
        assert release.table.index.equals(table.index)


def test_the_input_is_left_alone(construct):
    table = construct(survey(40))
    before = table.copy() if isinstance(table, pd.DataFrame) else table
    shoal.microaggregate(table, 4, method="mdav")
    assert table.equals(before)
    columns = np.asarray(survey(40)["turnover"])
    assert np.array_equal(np.asarray(table["turnover"], columns.dtype), columns)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "u8"])
def test_numpy_keeps_its_type_and_shape(dtype):
    X = np.random.default_rng(0).integers(0, 200, (30, 3)).astype(dtype)
    release = shoal.microaggregate(X, 3, method="mdav")
    assert release.table.dtype == X.dtype
    assert release.table.shape == X.shape
    one = shoal.microaggregate(X[:, 0], 3)
    assert one.table.shape == (30,)
    assert release.labels.dtype == np.int64
    assert np.array_equal(np.unique(release.labels), np.arange(len(release.group_sizes)))


def test_columns_may_have_any_name():
    X = np.random.default_rng(0).normal(size=(30, 3))
    expected = shoal.microaggregate(X, 3, method="mdav")
    for names in (range(3), [0, "a", 2.5], [(1, "a"), (1, "b"), (2, "a")]):
        table = pd.DataFrame(X, columns=pd.Index(list(names), dtype=object, tupleize_cols=False))
        release = shoal.microaggregate(table, 3, method="mdav")
        assert np.array_equal(release.table.to_numpy(), expected.table)
        assert list(release.table.columns) == list(table.columns)


@pytest.mark.parametrize("dtype", [">f8", ">i4", "f2"])
def test_unusual_number_types_come_back_as_they_were(dtype):
    X = np.random.default_rng(0).integers(0, 500, (30, 2)).astype(dtype)
    for data in (X, X[:, 0]):
        release = shoal.microaggregate(data, 3, method="mdav")
        assert release.table.dtype == data.dtype
        assert release.table.shape == data.shape
        assert np.array_equal(
            release.labels, shoal.microaggregate(data.astype(float), 3, method="mdav").labels
        )


def test_columns_of_an_array_are_numbered():
    X = np.random.default_rng(0).normal(size=(30, 3))
    release = shoal.microaggregate(X, 3, columns=[0, 2], method="mdav")
    assert np.array_equal(release.table[:, 1], X[:, 1])
    assert not np.array_equal(release.table[:, 0], X[:, 0])


def test_a_path_gives_what_read_gives(tmp_path):
    path = tmp_path / "firms.csv"
    shoal.write(survey(40), path)
    release = shoal.microaggregate(path, 4, method="mdav")
    assert release.table.equals(shoal.microaggregate(shoal.read(path), 4, method="mdav").table)


def test_identifiers_and_weights_are_pointed_out_and_used_all_the_same():
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "row": np.arange(100, 130),
            "UTILITYID": rng.integers(0, 9, 30),
            "sampling_weight": rng.normal(size=30),
            "paid": rng.normal(size=30),
        }
    )
    release = shoal.microaggregate(table, 3, method="mdav")
    assert release.columns == ("row", "UTILITYID", "sampling_weight", "paid")
    assert [note.split("'")[1] for note in release.notes][:3] == ["row", "UTILITYID", "sampling_weight"]
    notes = shoal.microaggregate(table, 3, columns=["row", "paid"], method="mdav").notes
    assert not any("averaged" in note for note in notes)
    (note,) = shoal.microaggregate(pa.table({"tax": np.arange(30) ** 2, "n": [1, 2] * 15}), 3).notes
    assert note == "each record has its own value in column 'tax': is it an identifier?"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "same name"),
        (pa.table({"a": ["x", "y", "z"]}), "no numeric column"),
        (np.array([[1.0], [np.inf], [2.0]]), "column 0 has the value inf in row 2"),
        (np.array([["a"], ["b"], ["c"]]), "cannot be grouped"),
        (np.zeros((2, 2, 2)), "one or two dimensions, not 3"),
        (np.zeros((4, 0)), "no numeric column"),
        ({"a": 1}, "is not a table"),
    ],
)
def test_bad_tables_in_one_sentence(data, sentence):
    with pytest.raises(InputError, match=sentence):
        shoal.microaggregate(data, 2)


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(InputError, match=r"no column 'Wages': did you mean 'wages'\?"):
        shoal.microaggregate(survey(20), 3, columns=["Wages"])
    with pytest.raises(InputError, match="there are 'b', 'a', 'c'"):  # in the table's order
        shoal.microaggregate(pa.table({"b": [1, 2], "a": [1, 2], "c": [1, 2]}), 2, columns=["nothing"])
    with pytest.raises(InputError, match="'mdav_generic'"):
        shoal.microaggregate(survey(20), 3, method="mdav_generik")
    with pytest.raises(InputError, match="no parameter 'size': it takes none"):
        shoal.microaggregate(survey(20), 3, method="mdav", parameters={"size": 4})


@pytest.mark.parametrize("missing", ["group", "drop"])
@pytest.mark.parametrize(
    "given",
    [
        pd.Series([1.0, 2.0, 9.0, 11.0], list("abcd"), name="x"),
        pd.Series([1.0, 2.0, 9.0, 11.0]),
        pl.Series("x", [1.0, 2.0, 9.0, 11.0]),
        pa.array([1.0, 2.0, 9.0, 11.0]),
        pa.chunked_array([[1.0, 2.0], [9.0, 11.0]]),
    ],
)
def test_a_single_column_comes_back_as_what_it_was(given, missing, tmp_path):
    release = shoal.microaggregate(given, 2, missing=missing, order="keep")
    assert type(release.table) is type(given)
    values = (
        release.table.to_pylist() if isinstance(given, (pa.Array, pa.ChunkedArray)) else list(release.table)
    )
    assert values == [1.5, 1.5, 10.0, 10.0]
    assert getattr(release.table, "name", None) == getattr(given, "name", None)
    if isinstance(given, pd.Series):
        assert release.table.index.equals(given.index)
    release.write(tmp_path / "out.csv")
    assert shoal.read(tmp_path / "out.csv").columns[0].to_pylist() == values


RECORDS = pa.table({"x": [1.0, 2.0, 9.0, 11.0], "name": ["a", "b", "c", "d"]})


class Sender:
    """Any object with Arrow's interface."""

    def __arrow_c_stream__(self, requested_schema=None):
        return RECORDS.__arrow_c_stream__(requested_schema)


def from_duckdb():
    import duckdb

    return duckdb.sql("select * from (values (1.0::double, 'a'), (2, 'b'), (9, 'c'), (11, 'd')) t(x, name)")


def from_adbc():
    """What a cursor of ADBC found, which comes when it is asked for."""
    dbapi = pytest.importorskip(
        "adbc_driver_sqlite.dbapi", reason="ADBC IS NOT TESTED: adbc-driver-sqlite is not installed"
    )
    cursor = dbapi.connect().cursor()
    cursor.adbc_ingest("firms", RECORDS)
    cursor.execute("select x, name from firms")
    return cursor.fetch_arrow()


def from_ibis():
    """A question that is not yet asked."""
    ibis = pytest.importorskip("ibis", reason="IBIS IS NOT TESTED: ibis-framework is not installed")
    table = ibis.memtable(RECORDS)
    return table.filter(table.x > 0)


#: The same records as each library sends them when they are asked for.
STREAMS = {
    "duckdb": from_duckdb,
    "reader": lambda: pa.RecordBatchReader.from_batches(RECORDS.schema, RECORDS.to_batches(max_chunksize=1)),
    "sender": Sender,
    "lazy": lambda: pl.from_arrow(RECORDS).lazy().filter(pl.col("x") > 0),
    "adbc": from_adbc,
    "ibis": from_ibis,
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_of_records_is_read_and_its_release_is_a_stream_again(kind):
    release = shoal.microaggregate(STREAMS[kind](), 2, columns=["x"])
    assert isinstance(release.table, pl.DataFrame if kind == "lazy" else pa.Table)
    again = pa.RecordBatchReader.from_stream(release.table).read_all()
    assert again.column("x").to_pylist() == [1.5, 1.5, 10.0, 10.0]
    assert again.column("name").to_pylist() == ["a", "b", "c", "d"]

    assert pa.RecordBatchReader.from_stream(release).read_all().to_pylist() == again.to_pylist()


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_need_not_fit_into_memory(kind, tmp_path):
    told = tmp_path / "report.json"
    asked = {"columns": ["x"], "keep": ["name"], "order": "keep", "report": told}
    outcome = shoal.protect_files(STREAMS[kind](), tmp_path / "out", 2, **asked)
    released = shoal.read(tmp_path / "out" / "part-00000.parquet")
    assert released["x"].to_pylist() == [1.5, 1.5, 10.0, 10.0]
    assert released["name"].to_pylist() == ["a", "b", "c", "d"]
    assert outcome.records == 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.private.json", "report.json"]


def test_adbc_and_ibis_take_a_release_as_a_stream(tmp_path):
    """Of both kinds: one in memory, and one that was written batch by batch."""
    release = shoal.microaggregate(from_adbc(), 2, columns=["x"])
    cursor = sys.modules["adbc_driver_sqlite.dbapi"].connect().cursor()
    assert cursor.adbc_ingest("safe", release) == 4
    cursor.execute("select x, name from safe")
    assert cursor.fetch_arrow_table().to_pylist() == release.table.to_pylist()
    shoal.protect_files(from_ibis(), tmp_path / "out.parquet", 2, columns=["x"], keep=["name"], order="keep")
    ibis = sys.modules["ibis"]
    assert ibis.read_parquet(tmp_path / "out.parquet").to_pyarrow().to_pylist() == release.table.to_pylist()
    assert ibis.memtable(pa.table(release)).x.sum().execute() == 23.0


def broken():
    def batches():
        yield pa.record_batch({"x": [1.0, 2.0]})
        raise OSError("the cable was pulled")

    return pa.RecordBatchReader.from_batches(pa.schema([("x", pa.float64())]), batches())


def test_a_stream_that_ends_early_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"stream of records broke off: .*the cable was pulled"):
        shoal.microaggregate(broken(), 2)
    with pytest.raises(InputError, match=r"stream of records broke off: .*the cable was pulled"):
        shoal.protect_files(broken(), tmp_path / "out", 2)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"stream of records broke off: .*nowhere"):
        shoal.microaggregate(pl.LazyFrame({"x": [1]}).select("nowhere"), 2)


def test_a_stream_with_two_columns_of_one_name_is_refused():
    class Doubled:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table([[1, 2], [3, 4]], names=["x", "x"]).__arrow_c_stream__(requested_schema)

    with pytest.raises(InputError, match="two columns of the table have the same name"):
        shoal.microaggregate(Doubled(), 2)


def test_frames_of_odd_kinds():
    import pandas as pd

    with pytest.raises(InputError, match="is not a table"):
        Frame(7)
    with pytest.raises(InputError, match="same name"):
        Frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="no column was chosen"):
        Frame(np.zeros((2, 2))).choose([])
    mixed = Frame(pd.DataFrame({"a": [1, "x"]}))
    with pytest.raises(InputError, match="mixes kinds"):
        mixed.arrow("a")


def test_arrays_have_rows_and_gaps_too():
    frame = Frame(np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0]]))
    assert frame.arrow(1).to_pylist() == [None, 5.0, 6.0]
    chosen = np.array([True, False, True])
    assert np.array_equal(frame.rows(chosen).native, [[1.0, np.nan], [3.0, 6.0]], equal_nan=True)
    assert Frame(np.array([7, 8, 9])).rows(chosen).native.tolist() == [7, 9]
    release = shoal.microaggregate(np.array([1.0, np.nan, 2.0, 3.0]), 3, missing="drop")
    assert release.table.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(InputError, match="is not a table"):
        Frame([[1, 2], [3]])


def test_columns_of_nothing_but_gaps_are_texts_or_numbers():
    assert Frame(pa.table({"n": pa.nulls(3)})).arrow("n").type == pa.string()
    table = pa.table({"x": [1.0, 2, 3, 4], "none": pa.array([None] * 4, pa.float64())})
    release = shoal.microaggregate(table, 2, missing="group")
    assert release.table["none"].null_count == 4
    assert release.table["x"].to_pylist() == [1.5, 1.5, 3.5, 3.5]


def test_tables_that_are_none_are_named():
    with pytest.raises(InputError, match="a SimpleNamespace is not a table"):
        Frame(SimpleNamespace(columns=["a"]))


@pytest.mark.parametrize("dtype", ["float64", "Float64"])
def test_gaps_of_pandas_stay_gaps_of_their_own_kind(dtype):
    import pandas as pd

    frame = pd.DataFrame({"x": pd.array([1.0, 3.0, None, None], dtype=dtype)})
    released = shoal.microaggregate(frame, 2, columns=["x"], missing="group").table["x"]
    assert released.dtype == dtype
    assert released.isna().tolist() == [False, False, True, True]
    assert released[:2].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("missing", ["group", "impute"])
def test_whole_doubles_with_gaps_are_grouped_as_whole_numbers(missing):
    """The gaps of doubles lay at their mean, a fraction, which the method for whole numbers refused."""
    cells = [1, 2, None, 4, 8, 9, 11, None, 15, 20, 22, None]
    whole = pa.table({"x": pa.array(cells, pa.int64())})
    wanted = shoal.microaggregate(whole, 3, missing=missing, order="keep")
    coded = pd.DataFrame({"x": [-9.5 if cell is None else float(cell) for cell in cells]})
    given = [
        (pd.DataFrame({"x": cells}), {}),
        (whole.cast(pa.schema({"x": pa.float64()})), {"types": {"x": "integer"}}),
        (coded, {"missing_codes": {"x": [-9.5]}}),
    ]
    for table, facts in given:
        release = shoal.microaggregate(table, 3, missing=missing, order="keep", **facts)
        assert release.information_loss == pytest.approx(wanted.information_loss)
        found = [
            None if x != x or x in (None, -9.5) else x for x in list(np.array(release.table["x"], float))
        ]
        assert found == wanted.table["x"].to_pylist()


def test_doubles_beyond_whole_numbers_stay_doubles():
    table = pd.DataFrame({"x": [1e20, 2e20, np.nan, 4e20, 5e20, 9e20, 1e21, np.nan, 3e20]})
    release = shoal.microaggregate(table, 2, order="keep")
    assert release.table["x"].isna().sum() == 2


def test_a_name_with_a_comma_is_typed_in_quotes():
    with pytest.raises(
        InputError, match=r"""no column 'size': .* in double quotes, such as -c '"size, in m2"'"""
    ):
        Frame(pa.table({"size, in m2": [1]})).find(["size", "in m2"])
