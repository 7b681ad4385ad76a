"""Text files larger than memory: what they become is what the reader in memory makes of them."""

import gc
import gzip
import resource

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.errors import InputError, MachineError
from shoal.io.formats.long_text import LongText
from shoal.verify.files import check


def converted(path):
    LongText(path, block=64, chunk=50).to_parquet(path.with_suffix(".made"))
    return pq.read_table(path.with_suffix(".made"))


ROWS = [f"{j},{j / 4},00{j},{'x' if j == 70 else j},{'' if j % 3 else j},NA" for j in range(90)]
FILES = {
    "plain.csv": ("whole,real,code,late,gaps,none\n" + "\n".join(ROWS)).encode(),
    "comma.csv": ("a;b;c;d\n" + "\n".join(f"{j};{j},5;1.5;1e{j % 9}" for j in range(60))).encode(),
    "wide.csv": b"a,b,c\n"
    + b"\n".join(b"%d,%d,%d" % (j, 10**20 + j, 10**20 + j) for j in range(40))
    + b"\n1,2,1.5\n",
    "latin.csv": b"name,n\n" + "\n".join(f"Zoé {j},{j}" for j in range(60)).encode("cp1252"),
    "odd.csv": b"name,n\n" + "\n".join(f"\x81é {j},{j}" for j in range(60)).encode("latin-1"),
    "utf16.csv": ("name,n\n" + "\n".join(f"Zoé {j},{j}" for j in range(60))).encode("utf-16"),
    "bom.csv": ("name,n\n" + "\n".join(f"Zoé {j},{j}" for j in range(60))).encode("utf-8-sig"),
    "quoted.csv": ("t,n\n" + "\n".join(f'"a,\n""{j}""",{j}' for j in range(60))).encode(),
    "windows.csv": "".join(["t,n\r\n", *(f'"é\r\n{j}",{j}\r\n' for j in range(60))]).encode(),
    "tabs.tsv": ("t\tn\n" + "\n".join(f"a,{j}\t{j}.0" for j in range(60))).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_it_is_read_as_in_memory(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(FILES[name]))
    expected = shoal.read(tmp_path / name).replace_schema_metadata(None)
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        found = converted(path)
        assert found.schema.equals(expected.schema)
        assert found.combine_chunks().equals(expected.combine_chunks())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n" + b"1,2\n" * 50 + b"1,2,3\n", "has 3 cells in row 52 but 2 columns"),
        (b"a,b\n" + b"1," + b"2" * 300 + b"\n", "has a record of more than 64 letters"),
        (b"a,b\n1,\x002\n", "has a NUL byte in line 2"),
        (b"a,a\n1,2\n", "two columns of .* are called 'a'"),
        (b"", "cannot be read as a text"),
        ("a,b\n1,2".encode("utf-16") + b"x", "has what is no text in utf-16-le: save it as UTF-8"),
    ],
)
def test_what_is_no_table(tmp_path, content, said):
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(InputError, match=said):
        converted(tmp_path / "in.csv")


def test_packed_files_that_end_early_or_never(tmp_path):
    whole = gzip.compress(FILES["plain.csv"])
    (tmp_path / "in.csv.gz").write_bytes(whole[:-40])
    with pytest.raises(InputError, match="may be cut short"):
        converted(tmp_path / "in.csv.gz")
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"a,b\n" * (5 << 20)) * 22)
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        LongText(tmp_path / "bomb.csv.gz").to_parquet(tmp_path / "made")
    wide = gzip.compress("a,b\n".encode("utf-16")) + gzip.compress("\n".encode("utf-16-le") * (5 << 20)) * 44
    (tmp_path / "wide.csv.gz").write_bytes(wide)
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        LongText(tmp_path / "wide.csv.gz").by_column()


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_what_keeps_a_text_from_being_read_by_column(tmp_path, ending, capfd):
    """A text that ends early, and a disk that fills: one sentence, and nothing is left."""
    path, content = tmp_path / f"in.{ending}", FILES["plain.csv"] + b'\n1,2,3,"open'
    path.write_bytes(content if ending == "csv" else gzip.compress(FILES["plain.csv"])[:-40])
    with pytest.raises(InputError, match=r"row 92|may be cut short"):
        LongText(path, block=300).by_column()
    path.write_bytes(FILES["plain.csv"] if ending == "csv" else gzip.compress(FILES["plain.csv"]))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        with pytest.raises(MachineError, match=r"cannot be stored in '.*': File too large; name another"):
            LongText(path, block=300).by_column()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    gc.collect()
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_without_records_has_columns(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n")
    table, cells, *_ = LongText(tmp_path / "in.csv").by_column()
    assert (len(table), table.column_names, cells.column_names) == (0, ["a", "b"], ["a", "b"])
    assert (table["a"].to_pylist(), cells["b"].to_pylist()) == ([], [])
    assert converted(tmp_path / "in.csv").column_names == ["a", "b"]


def test_names_with_points_are_columns_of_their_own(tmp_path):
    (tmp_path / "in.csv").write_text("a.b,a\n1,x\n2,y\n")
    table = LongText(tmp_path / "in.csv").by_column().table
    assert (table["a"].to_pylist(), table["a.b"].to_pylist()) == (["x", "y"], [1, 2])


def test_only_the_ending_says_which_sign_is_usual(tmp_path):
    (path := tmp_path / "was.tsv.csv").write_text("a\tb,c\n1\t2,3\n")
    assert LongText(path).by_column().table.column_names == shoal.read(path).column_names == ["a\tb", "c"]


def test_a_text_is_protected_on_disk(tmp_path):
    """The same release as of the Parquet file with the same cells; nothing else is left behind."""
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=500), "b": rng.integers(0, 99, 500), "who": ["x", "y"] * 250})
    shoal.write(table, tmp_path / "in.csv.gz")
    shoal.write(table, tmp_path / "in.parquet")
    plan = {"columns": ["a", "b"], "method": "mdav"}
    for name in ("in.csv.gz", "in.parquet"):
        shoal.protect_files(tmp_path / name, tmp_path / f"{name}.out.parquet", 5, **plan)
    one, other = (pq.read_table(tmp_path / f"{name}.out.parquet") for name in ("in.csv.gz", "in.parquet"))
    assert one.equals(other)
    assert check(one, 5, ["a", "b"])[0].passed
    words = ["protect", str(tmp_path / "in.csv.gz"), "-k", "5", "--engine", "disk"]
    done = CliRunner().invoke(app, [*words, "-c", "a,b", "-m", "mdav"])
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "in.csv.gz.protected.parquet").equals(one)
    assert len(list(tmp_path.iterdir())) == 5
    done = CliRunner().invoke(app, words)
    assert "guesses are not applied unasked: add --accept-guesses" in " ".join(done.output.split())
    with pytest.raises(InputError, match=r"large tables are written as Parquet, not as '.*out.csv'"):
        shoal.protect_files(tmp_path / "in.csv.gz", tmp_path / "out.csv", 5, **plan)
    with pytest.raises(InputError, match="there is no column 'c'"):
        shoal.protect_files(tmp_path / "in.csv.gz", tmp_path / "out", 5, columns=["c"])
