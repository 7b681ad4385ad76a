"""The file tells nothing that its rows do not: levels, labels, metadata, indexes, read by others."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest

import shoal
from shoal.errors import InputError

SECRET = "Jane Doe"
WORDS = ["west", "east", "west", "east", "west", "east", "west", "east"]
LEVELS = ["west", SECRET, "north", "east"]
NUMBERS = np.arange(8.0)


def pandas_table(ordered=False):
    words = pd.Categorical(WORDS, LEVELS, ordered=ordered)
    return pd.DataFrame({"n": NUMBERS, "kept": words, "quasi": words})


def arrow_table(ordered=False):
    codes = pa.array([LEVELS.index(word) for word in WORDS], pa.int8())
    words = pa.DictionaryArray.from_arrays(codes, pa.array(LEVELS), ordered=ordered)
    return pa.table({"n": NUMBERS, "kept": words, "quasi": words})


def polars_table(ordered=False):
    words = pl.Series(WORDS, dtype=pl.Enum(LEVELS)) if ordered else pl.Series(LEVELS).cast(pl.Categorical)
    words = words if ordered else pl.concat([words, pl.Series(WORDS).cast(pl.Categorical)])[4:]
    return pl.DataFrame({"n": NUMBERS, "kept": words, "quasi": words})


def inner_table(ordered=False):
    """pandas with a dictionary of Arrow inside."""
    return arrow_table(ordered).to_pandas(types_mapper=pd.ArrowDtype)


def found_levels(path):
    """The levels in a Parquet file as three libraries see them."""
    table = pq.read_table(path)
    columns = [table[name] for name in ("kept", "quasi")]
    stored = [[chunk.dictionary.to_pylist() for chunk in column.chunks] for column in columns]
    frame, other = pd.read_parquet(path), pl.read_parquet(path)
    for name in ("kept", "quasi"):
        assert set(frame[name].cat.categories) <= {*WORDS}
        if isinstance(other.schema[name], pl.Enum):
            assert set(other.schema[name].categories) <= {*WORDS}
    assert SECRET.encode() not in path.read_bytes()
    return [levels for column in stored for levels in column]


@pytest.mark.parametrize("make", [pandas_table, arrow_table, polars_table, inner_table])
@pytest.mark.parametrize("ordered", [False, True])
def test_only_levels_that_occur_are_published(make, ordered, tmp_path):
    release = shoal.microaggregate(make(ordered), 2, order="keep", columns=["n", "quasi"])
    path = tmp_path / "out.parquet"
    release.write(path)
    wanted = ["west", "east"] if ordered else ["east", "west"]
    assert found_levels(path) == [wanted, wanted]
    assert pq.read_table(path)["kept"].type.ordered == ordered
    assert pq.read_table(path)["kept"].to_pylist() == WORDS
    table = release.table
    if make is pandas_table:
        assert all(list(table[name].cat.categories) == wanted for name in ("kept", "quasi"))
    if make is polars_table and ordered:
        assert table.schema["kept"] == table.schema["quasi"] == pl.Enum(wanted)
    if make is arrow_table:
        assert table["kept"].chunk(0).dictionary.to_pylist() == wanted
    if make is inner_table:
        assert pa.array(table["kept"]).dictionary.to_pylist() == wanted


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("make", [pandas_table, arrow_table, polars_table])
def test_only_levels_that_occur_are_published_from_a_file(make, engine, tmp_path):
    made = make(True)
    source, path = tmp_path / "in.parquet", tmp_path / "out.parquet"
    {pandas_table: lambda: made.to_parquet(source), polars_table: lambda: made.write_parquet(source)}.get(
        make, lambda: pq.write_table(made, source)
    )()
    assert SECRET.encode() in source.read_bytes()
    words = [
        "protect",
        str(source),
        "-k",
        "2",
        "-c",
        "n",
        "--order",
        "keep",
        "-o",
        str(path),
        "--engine",
        engine,
    ]
    from typer.testing import CliRunner

    from shoal.cli.commands import app

    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    assert found_levels(path) == [["west", "east"]] * 2


@pytest.mark.parametrize("make", [pandas_table, arrow_table])
def test_levels_that_the_user_declares_are_published_in_their_order(make, tmp_path):
    levels = ["north", "west", "east"]
    release = shoal.microaggregate(
        make(),
        2,
        columns=["n", "quasi"],
        levels={"quasi": levels, "kept": levels},
        closeness={"kept": 1},  # levels of a column that nobody looks at would be refused
        order="keep",
    )
    release.write(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["quasi"].chunk(0).dictionary.to_pylist() == levels
    assert table["kept"].chunk(0).dictionary.to_pylist() == levels
    assert table["quasi"].type.ordered
    assert table["kept"].to_pylist() == WORDS


def test_levels_of_every_type_are_kept(tmp_path):
    days = pd.to_datetime(["2031-12-24", "2031-12-25"])
    frame = pd.DataFrame(
        {
            "n": NUMBERS,
            "cut": pd.cut(NUMBERS, [-1, 3, 9, 99]),
            "days": pd.Categorical([days[1], None] * 4, days),
            "mixed": pd.Categorical(["b", 2] * 4, [2, "b", 1]),
        }
    )
    table = shoal.microaggregate(frame, 2, order="keep", columns=["n"]).table
    assert [len(table[name].cat.categories) for name in ("cut", "days", "mixed")] == [2, 1, 2]
    for name in ("cut", "days", "mixed"):
        assert table[name].astype(object).equals(frame[name].astype(object))
    nested = pa.DictionaryArray.from_arrays(pa.array([0] * 8), pa.array([[1], [2]]))
    made = shoal.microaggregate(pa.table({"n": NUMBERS, "l": nested}), 2, order="keep", columns=["n"]).table
    assert made["l"].type == pa.list_(pa.int64())


@pytest.fixture
def study(tmp_path):
    """A study of SPSS that has a name, a level and a code of a person, and labels of all."""
    path = tmp_path / "study.sav"
    frame = pd.DataFrame({"n": NUMBERS, "who": np.arange(8.0), "sex": [1.0, 2] * 4, "asks": [1.0, 99] * 4})
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"n": "A number", "who": SECRET, "sex": "Sex", "asks": "Asks"},
        variable_value_labels={
            "who": {0: SECRET},
            "sex": {1: "male", 2: "female", 3: SECRET},
            "asks": {99: "refused", 98: SECRET},
        },
        missing_ranges={"asks": [99, 98]},
        variable_measure={"sex": "nominal"},
    )
    return path


@pytest.mark.parametrize("ending", ["sav", "dta", "parquet", "arrow", "csv", "xlsx"])
def test_labels_of_dropped_columns_and_of_values_that_do_not_occur_are_gone(study, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    release = shoal.microaggregate(study, 2, order="keep", columns=["n"], roles={"who": "identifier"})
    release.write(path)
    assert SECRET not in str(release.table.schema.metadata)
    if ending in ("parquet", "arrow"):
        schema = (pq.read_table(path) if ending == "parquet" else feather.read_table(path)).schema
        assert list(schema.metadata) == [b"shoal"]
        told = json.loads(schema.metadata[b"shoal"])["stats"]
        assert told["column_labels"] == {"n": "A number", "sex": "Sex", "asks": "Asks"}
        assert told["variable_value_labels"]["sex"] == [[1.0, "male"], [2.0, "female"]]
        assert SECRET not in str(schema.metadata)
        assert not any(field.metadata for field in schema)
    elif ending in ("sav", "dta"):
        options = {"user_missing": True} if ending == "sav" else {}
        _, facts = getattr(pyreadstat, f"read_{ending}")(path, **options)
        assert facts.column_names_to_labels == {"n": "A number", "sex": "Sex", "asks": "Asks"}
        assert facts.variable_value_labels["sex"] == {1: "male", 2: "female"}
        assert SECRET not in str(vars(facts))
        if ending == "sav":
            assert facts.variable_value_labels["asks"] == {99: "refused"}
            assert facts.missing_ranges == {"asks": [{"lo": 99.0, "hi": 99.0}]}
    assert SECRET.encode() not in path.read_bytes()


def test_stata_letters_and_labels_that_do_not_occur_are_gone(tmp_path):
    source, path = tmp_path / "in.dta", tmp_path / "out.dta"
    frame = pd.DataFrame({"n": NUMBERS, "asks": pd.Series([1.0, "a"] * 4, dtype=object)})
    labels = {"asks": {1: "yes", "a": "refused", 2: SECRET, "b": SECRET}}
    pyreadstat.write_dta(
        frame, source, variable_value_labels=labels, missing_user_values={"asks": ["a", "b"]}
    )
    shoal.microaggregate(source, 2, order="keep", columns=["n"]).write(path)
    cells, facts = pyreadstat.read_dta(path, user_missing=True)
    assert cells["asks"].tolist() == [1.0, "a"] * 4
    assert facts.variable_value_labels == {"asks": {1: "yes", "a": "refused"}}
    assert facts.missing_user_values == {"asks": ["a"]}


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_foreign_metadata_are_not_written(tmp_path, engine):
    fields = [
        pa.field("n", pa.float64(), metadata={"owner": SECRET}),
        pa.field("name", pa.string(), metadata={"about": SECRET}),
    ]
    table = pa.table([NUMBERS, ["x"] * 8], pa.schema(fields, {"history": SECRET, "pandas": "{}"}))
    source, path = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    if engine == "disk":
        notes = shoal.protect_files(source, path, 2, order="keep", columns=["n"], keep="name").notes
    else:
        release = shoal.microaggregate(source, 2, order="keep", columns=["n"], keep="name")
        release.write(path)
        notes = release.notes
        assert shoal.microaggregate(table, 2, order="keep", columns=["n"]).table.schema.metadata is None
    schema = pq.read_schema(path)
    assert schema.metadata is None
    assert not any((field.metadata or {}).get(b"owner") for field in schema)
    assert SECRET.encode() not in path.read_bytes()
    assert any("'history', 'owner', 'about'" in note for note in notes)


def test_attributes_of_pandas_are_not_written(tmp_path):
    frame = pd.DataFrame({"n": NUMBERS})
    frame.attrs["asked by"] = SECRET
    release = shoal.microaggregate(frame, 2, order="keep")
    assert release.table.attrs == {}
    assert any("'asked by'" in note for note in release.notes)
    release.write(tmp_path / "out.parquet")
    shoal.write(frame, tmp_path / "plain.parquet")
    for name in ("out", "plain"):
        assert SECRET.encode() not in (tmp_path / f"{name}.parquet").read_bytes()
    assert frame.attrs == {"asked by": SECRET}


NAMES = [f"{SECRET} {j}" for j in range(8)]


@pytest.mark.parametrize("index", [NAMES, [5, 3, 8, 1, 0, 2, 9, 7]])
def test_an_index_without_a_name_is_not_written(tmp_path, index):
    frame = pd.DataFrame({"n": NUMBERS, "t": list("abcdefgh")}, index=index)
    release = shoal.microaggregate(frame, 2, order="keep", columns=["n"])
    assert list(release.table.index) == index
    release.write(tmp_path / "out.parquet")
    release.write(tmp_path / "out.csv")
    frame.to_parquet(tmp_path / "in.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "in.parquet").names
    again = shoal.microaggregate(tmp_path / "in.parquet", 2, order="keep", columns=["n"])
    again.write(tmp_path / "again.parquet")
    shoal.protect_files(tmp_path / "in.parquet", tmp_path / "disk.parquet", 2, order="keep", columns=["n"])
    for name in ("out", "again", "disk"):
        assert pq.read_schema(tmp_path / f"{name}.parquet").names == ["n", "t"]
        assert SECRET.encode() not in (tmp_path / f"{name}.parquet").read_bytes()
    assert (tmp_path / "out.csv").read_text().startswith("n,t\n")
    assert any("an index without a name" in note for note in again.notes)
    assert any("an index without a name" in note for note in release.notes) == (index is NAMES)
    assert shoal.check(tmp_path / "again.parquet", 2, ["n"])[0].passed


def test_an_index_with_a_name_is_a_column(tmp_path):
    frame = pd.DataFrame({"n": NUMBERS}, index=pd.Index(WORDS, name="region"))
    release = shoal.microaggregate(frame, 2, order="keep")
    assert release.table.index.equals(frame.index)
    assert list(release.table.columns) == ["n"]
    release.write(tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv")
    assert list(written.columns) == ["region", "n"]
    assert written["region"].tolist() == WORDS
    dropped = shoal.microaggregate(frame, 2, order="keep", roles={"region": "identifier"})
    assert list(dropped.table.index) == list(range(8))
    both = pd.DataFrame(
        {"n": NUMBERS}, index=pd.MultiIndex.from_arrays([WORDS, NAMES], names=["region", None])
    )
    made = shoal.microaggregate(both, 2, order="keep")
    assert made.table.index.get_level_values("region").tolist() == WORDS
    made.write(tmp_path / "both.parquet")
    assert pq.read_schema(tmp_path / "both.parquet").names == ["region", "n"]
    twice = pd.DataFrame({"n": NUMBERS}, index=pd.Index(WORDS, name="n"))
    with pytest.raises(InputError, match="called like one of its columns"):
        shoal.microaggregate(twice, 2, order="keep")


def test_an_index_that_looks_like_an_identifier_is_dropped(tmp_path):
    frame = pd.DataFrame({"n": NUMBERS}, index=pd.Index(range(100, 108), name="person_id"))
    release = shoal.microaggregate(frame, 2, order="keep")
    assert list(release.table.columns) == ["n"]
    assert list(release.table.index) == list(range(8))
    assert any("identifiers dropped: person_id" in note for note in release.notes)
    kept = shoal.microaggregate(frame, 2, order="keep", columns=["n"], roles={"person_id": "other"})
    assert kept.table.index.equals(frame.index)


def test_a_series_keeps_its_index_and_a_file_has_none(tmp_path):
    series = pd.Series(NUMBERS, index=NAMES, name="n")
    release = shoal.microaggregate(series, 2, order="keep")
    assert list(release.table.index) == NAMES
    release.write(tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").names == ["n"]


def test_what_a_mask_hides_is_a_gap(tmp_path):
    hidden = np.ma.masked_array([[1.0, 777.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], mask=False)
    hidden[0, 1] = np.ma.masked
    assert hidden.data[0, 1] == 777
    release = shoal.microaggregate(hidden, 2, order="keep")
    assert np.isfinite(release.table).sum() >= 7
    assert not (release.table > 7).any()
    shoal.write(hidden, tmp_path / "out.csv")
    assert "777" not in (tmp_path / "out.csv").read_text()
    plain = np.ma.masked_array([1, 2, 8, 9])
    assert shoal.microaggregate(plain, 2, order="keep").table.tolist() == [2, 2, 9, 9]
    with pytest.raises(InputError, match="no sign for a gap"):
        shoal.microaggregate(np.ma.masked_array([1, 2, 8, 9], mask=[1, 0, 0, 0]), 2, order="keep")


@pytest.mark.parametrize(
    "details",
    [
        {"text": {"dialect": {"delimiter": "ab", "encoding": "no such"}, "gaps": {"n": "none"}}},
        {"text": {"dialect": {"more": 3}}},
        {"excel": {"sheet": "a/b" * 40}},
        {"stats": {"more": 3}, "more": {}},
    ],
)
def test_odd_details_of_a_table_in_memory_do_no_harm(details, tmp_path):
    table = pa.table({"n": NUMBERS}).replace_schema_metadata({"shoal": json.dumps(details)})
    for ending in ("csv", "xlsx", "sav", "parquet"):
        shoal.write(table, tmp_path / f"out.{ending}")
        assert shoal.read(tmp_path / f"out.{ending}")["n"].to_pylist() == NUMBERS.tolist()


@pytest.mark.parametrize("labels", [{"n": [3]}, {"n": 7}, {"n": [[[1], "a"]]}, 3])
def test_malformed_labels_are_one_sentence(labels, tmp_path):
    details = {"stats": {"variable_value_labels": labels}}
    table = pa.table({"n": NUMBERS}).replace_schema_metadata({"shoal": json.dumps(details)})
    with pytest.raises(InputError, match="not what shoal writes"):
        shoal.write(table, tmp_path / "out.sav")
