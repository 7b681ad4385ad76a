"""Hostile tables: a clear sentence or a right result, bounded memory, never a traceback."""

import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.fuzz import attempt, case, fuzz, samples
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.io.formats import arrow, excel, text
from shoal.verify.files import check, check_original
from tests import workbooks


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def refused(path, sentence, *words):
    said = call("protect", path, "-k", 2, "-o", path.parent / "out.csv", *words, status=2).stderr
    assert sentence in said
    assert said.count("\n") == 1
    assert not (path.parent / "out.csv").exists()


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
TEXTS |= st.sampled_from(
    ["", "NA", "=1+1", "-", "007", "1.50", "1e5", '"', "a,b", "a\nb", "a\r\nb", " ", "'", "é"]
)
CELLS = {
    "texts": TEXTS,
    "gappy texts": st.none() | TEXTS,
    "whole": st.integers(-(2**63), 2**63 - 1),
    "small": st.none() | st.integers(-3, 3),
    "real": st.floats(allow_infinity=False, allow_nan=False),
    "holes": st.none() | st.floats(-1e6, 1e6),
    "truth": st.booleans(),
    "days": st.none() | st.dates(),
}


@st.composite
def tables(draw):
    n = draw(st.integers(2, 9))
    names = draw(st.lists(TEXTS.filter(bool), min_size=2, max_size=4, unique=True))
    kinds = [draw(st.sampled_from(list(CELLS))) for _ in names]
    kinds[0] = draw(st.sampled_from(["whole", "small", "real", "holes"]))
    columns = [draw(st.lists(CELLS[kind], min_size=n, max_size=n)) for kind in kinds]
    if all(cell is None for cell in columns[0]):
        columns[0][0] = 1
    return pa.table(dict(zip(names, columns)))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tables(), st.sampled_from(["csv", "tsv", "parquet", "arrow", "csv.zst"]), st.booleans())
def test_any_table_comes_out_right_or_is_refused_in_one_sentence(tmp_path_factory, table, ending, safe):
    folder = tmp_path_factory.mktemp("any")
    source, target = folder / f"in.{ending}", folder / f"out.{ending}"
    name = table.column_names[0]
    try:
        shoal.write(table, source)
        release = shoal.microaggregate(source, 2, columns=[name], method="mdav")
        release.write(target, safe_cells=safe)
    except InputError:
        assert not target.exists()
        return
    names = [name] if not safe else [shoal.read(target).column_names[0]]
    assert all(finding.passed for finding in check(target, 2, names))
    if not safe:
        agreement = check_original(target, source, [name], plan=release.plan)
        assert agreement.passed, agreement
        assert agreement.by_row


@pytest.mark.no_cover
def test_a_bounded_fuzz_of_every_reader(tmp_path):
    """In this process, so that coverage and the compiler's cache serve; benchmarks/fuzz.py runs for long."""
    good = samples(tmp_path)
    for number in range(110):
        ending, content = case(good, 7, number)
        path = tmp_path / f"bad.{ending}"
        path.write_bytes(content)
        outcome = attempt(path, tmp_path / "out.csv")
        assert outcome.startswith(("released", "refused")), (number, ending, outcome)


def test_the_long_fuzz_runs_and_sees_what_is_wrong(monkeypatch):
    counts, wrong = fuzz(11, seed=3)
    assert sum(sum(found.values()) for found in counts.values()) == 11
    assert not wrong


@pytest.mark.no_cover
@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_text_bombs(tmp_path, packing):
    """A thousand to one: refused while it unpacks, long before memory is full."""
    path = tmp_path / ("bomb.csv.gz" if packing == "gzip" else "bomb.csv.zst")
    head, zeros = (pa.compress(part, codec=packing, asbytes=True) for part in (b"a,b\n", b"0" * (4 << 20)))
    path.write_bytes(head + 100 * zeros)  # packed pieces one after another are one file
    refused(path, "unpacks to more than 200 times its size")


def workbook(path, sheet):
    """A workbook whose only sheet is this text."""
    workbooks.workbook(path, ["a"])
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    parts["xl/worksheets/sheet1.xml"] = sheet
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, content)


HEAD = b'<?xml version="1.0"?>%s<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'


@pytest.mark.no_cover
def test_workbook_bombs(tmp_path):
    path = tmp_path / "bomb.xlsx"
    workbook(path, HEAD % b"" + b"<sheetData>" + b" " * (360 << 20) + b"</sheetData></worksheet>")
    refused(path, "unpacks to more than 200 times its size")
    far = b'<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row>'
    workbook(
        path, HEAD % b"" + b'<dimension ref="A1:XFD1048576"/><sheetData>' + far + b"</sheetData></worksheet>"
    )
    refused(path, "")
    rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (i, i) for i in range(1, 9))
    workbook(path, HEAD % b"" + b"<sheetData>" + rows + b"</sheetData></worksheet>")
    with pytest.raises(InputError, match="more than 50,000 cells"):
        excel.read(path, most_cells=50_000)
    entities = b"<!DOCTYPE z [" + b'<!ENTITY a0 "aaaaaaaaaa">'
    for i in range(9):
        entities += b'<!ENTITY a%d "%s">' % (i + 1, b"&a%d;" % i * 10)
    body = b'<sheetData><row r="1"><c r="A1" t="str"><v>&a9;</v></c></row></sheetData></worksheet>'
    workbook(path, HEAD % (entities + b"]>") + body)
    refused(path, "cannot be read as Excel")


def test_a_file_of_more_rows_than_memory(tmp_path):
    """Refused before it is read, where this process may use 1.6 GB."""
    part = pa.table({"a": np.zeros(1_000_000, bool)})
    with pq.ParquetWriter(tmp_path / "long.parquet", part.schema) as file:
        for _ in range(110):
            file.write_table(part)
    with open(tmp_path / "long.csv", "w") as file:
        file.write("a\n1\n")
        file.truncate(900_000_000)  # which takes no place on the disk
    code = "import resource, shoal, sys; limit = 1_600_000_000\n"
    code += "resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)); shoal.read(sys.argv[1])"
    for name, size in (("long.parquet", "0.9"), ("long.csv", "2.7")):  # a text takes three times its bytes
        words = [sys.executable, "-c", code, tmp_path / name]
        done = subprocess.run(words, capture_output=True, text=True)
        assert f"takes {size} GB, more than half of the memory there is" in done.stderr


@pytest.mark.parametrize(
    ("count", "sentence"), [(50_000_000, "200 times its size"), (20 + (255 << 48), "file of Stata")]
)
def test_a_stata_file_that_promises_more_rows_than_it_has(tmp_path, count, sentence):
    pytest.importorskip("pyreadstat")
    path = tmp_path / "many.dta"
    shoal.write(survey(20), path)
    content = bytearray(path.read_bytes())
    place = content.index(b"<N>") + 3
    content[place : place + 8] = count.to_bytes(8, "little")
    path.write_bytes(content)
    refused(path, sentence)


def flipped(path, old, new):
    """A file with one byte string replaced by another of the same length, at its first place."""
    content = path.read_bytes()
    assert old in content
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new, 1))


def test_arrow_files_whose_lengths_lie(tmp_path):
    path = tmp_path / "t.arrow"
    numbers = pa.table({"a": np.zeros(20_000), "b": pa.array(["x"] * 20_000).dictionary_encode()})
    for size in (1 << 30, 1 << 60):  # unpacked, a column has so many bytes: no memory is set aside for them
        shoal.write(numbers, path)
        flipped(path, (8 * 20_000).to_bytes(8, "little"), size.to_bytes(8, "little"))
        refused_in_little_memory(path, "unpacks to more than 200 times its size")
    shoal.write(numbers, path)
    path.write_bytes(b"\xff\xff\xff\xff" + (2**31 - 8).to_bytes(4, "little") + bytes(100))
    refused(path, "cannot be read as Arrow")


def test_arrow_says_what_it_cannot_do(tmp_path, monkeypatch):
    shoal.write(survey(20), tmp_path / "t.arrow")

    def read_with(error):
        def fail(table):
            raise error

        monkeypatch.setattr(arrow, "_valid", fail)
        return shoal.read(tmp_path / "t.arrow")

    with pytest.raises(InputError, match="cannot be read as Arrow: no such type"):
        read_with(pa.ArrowNotImplementedError("no such type"))
    with pytest.raises(MemoryError):  # an honest file, but a small machine
        read_with(pa.ArrowMemoryError("malloc of size 10000 failed"))
    with pytest.raises(MemoryError):
        read_with(pa.ArrowMemoryError("no word on the size"))


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_name_that_is_no_text(tmp_path, engine):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"abcdef": [1.0, 2, 3, 4]}), path, store_schema=False)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"abcdef", b"abc\xffef"))
    refused(path, "t.parquet'", "--engine", engine)


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst"])
def test_broken_packed_files_cost_no_memory(tmp_path, ending):
    """A page that runs for weeks sees many of them."""
    path = tmp_path / f"cut.{ending}"
    shoal.write(survey(20), path)
    path.write_bytes(path.read_bytes()[:150])

    def taken():
        facts = Path("/proc/self/status").read_text()
        return int(facts.partition("VmData:")[2].split()[0])  # in kB

    before = taken()
    for _ in range(30):
        with pytest.raises(InputError, match="cannot be read"):
            shoal.read(path)
    assert taken() - before < 200_000


def test_twenty_thousand_columns_and_one(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"column{j}" for j in range(20_001)]
    path.write_text("\n".join([",".join(names), *[",".join(["1"] * 20_001)] * 3]))
    refused(path, "has 20,001 columns, and shoal takes 20,000")
    path.write_text("\n".join([",".join(names[:200]), *[",".join(["123456"] * 200)] * 4]))
    release = shoal.microaggregate(path, 2, columns=["column0", "column199"], method="mdav")
    release.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().strip() == path.read_text()


BIG_LINE = """
import resource, sys
import shoal.pipeline, pyarrow.csv
from shoal.cli import main
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    main()
except SystemExit as stop:
    print(stop.code, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_line_of_an_eighth_of_a_gigabyte(tmp_path):
    """A sparse file (all NUL), and one of digits: refused, in little more memory than the file itself."""
    sparse = tmp_path / "sparse.csv"
    with sparse.open("wb") as file:
        file.write(b"a,b\n")
        file.truncate(1 << 27)
    digits = tmp_path / "digits.csv"
    with digits.open("wb") as file:
        file.write(b"a,b\n")
        for _ in range(1 << 3):
            file.write(b"7" * (1 << 24))
    for path, sentence in (
        (sparse, "has a NUL byte in line 2"),
        (digits, "a record of more than 64 million"),
    ):
        words = [sys.executable, "-c", BIG_LINE, "protect", path, "-k", "2", "-o", tmp_path / "out.csv"]
        run = subprocess.run(words, capture_output=True, text=True)
        status, megabytes = map(int, run.stdout.split())
        assert status == 2
        assert sentence in run.stderr
        assert run.stderr.count("\n") == 1
        assert megabytes < 350
        path.unlink()


ODD_TEXTS = {
    "nested quotes": (b'a,b\n1,"x ""y"" z"\n2,"""quoted"""\n3,""\n4,"p""q"\n', 2),
    "an open quote": (b'a,b\n1,"x\n2,y\n3,z\n', None),
    "mixed encodings": ("a,b\n1,é\n".encode() + b"2,\xe9\n3,x\n4,y\n", 2),
    "lone carriage returns": (b"a,b\r1,2\r3,4\r5,6\r", 2),
    "a mark in the middle": ("a,b\n1,2\n3,4\n\ufeff5,6\n7,8\n".encode(), None),
    "UTF-16 without an end": (b"\xff\xfea\x00,\x00b\x00\n\x001\x00,", None),
    "nothing but commas": (b",,\n,,\n,,\n", None),
    "nothing but an empty line": (b"\n\n\n", None),
    "huge number": (b"a,b\n" + b"9" * 5000 + b",1\n2,2\n", None),
    "control characters": (b"a,b\n1,\x01\x02\x1a\n2,\x7f\n3,c\n4,d\n", 2),
}


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_texts(tmp_path, name):
    """A right release (checked against the original) or a sentence."""
    content, k = ODD_TEXTS[name]
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_bytes(content)
    words = ("protect", path, "-k", 2, "-c", "a", "-o", out)
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    if k is None and outcome.exit_code:
        assert outcome.exit_code == 2, outcome.output
        assert outcome.stderr.count("\n") == 1
        assert not out.exists()
        return
    assert outcome.exit_code == 0, outcome.output
    call("check", out, "-k", 2, "-c", "a", "--original", path)


def test_ragged_files_are_told_with_their_own_delimiter(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a;b\n1;2\n3\n")
    refused(path, "has 1 cells in row 3 but 2 columns")
    path.write_text("a;b;c\n1,5;2;3\n3;4;5\n5;6;7\n")
    assert shoal.read(path)["a"].to_pylist() == [1.5, 3.0, 5.0]


def test_a_file_of_names_only_says_so(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("a,b\n")
    refused(path, "the table has 0")


FORMULAS = pa.table(
    {
        "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        "who": ["=1+1", "+cmd", "-2", "@sum", "plain"],
        "what": ["\tx", "\rx", "-x", "+3,5", None],
        "=name": ["-", "-1e5", "+49 30 123", " =1", "'=1"],
    }
)


def test_cells_that_a_spreadsheet_would_run_are_told_and_kept(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    shoal.write(FORMULAS, source)
    said = call("protect", source, "-k", 2, "-c", "x", "--order", "keep", "--keep", "=name", "-o", out)
    note = "8 texts begin like a formula, first in column 'who': a spreadsheet would run it"
    assert note in " ".join(said.stderr.split())
    assert shoal.read(out).drop_columns(["x"]).equals(shoal.read(source).drop_columns(["x"]))
    release = shoal.microaggregate(source, 2, columns="x", keep="=name")
    assert release.write(tmp_path / "out.parquet") == ()
    assert release.write(tmp_path / "out.xlsx") == ()


def test_safe_cells_prefixes_them_and_nothing_else(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.tsv"
    shoal.write(FORMULAS, source)
    said = call(
        "protect", source, "-k", 2, "-c", "x", "--order", "keep", "--keep", "=name", "-o", out, "--safe-cells"
    )
    assert "8 texts begin like a formula" in " ".join(said.stderr.split())
    assert "written after an apostrophe" in " ".join(said.stderr.split())
    found = text.read("\t", None, out).cells
    assert found.column_names == ["x", "who", "what", "'=name"]
    assert found["who"].to_pylist() == ["'=1+1", "'+cmd", "-2", "'@sum", "plain"]
    assert found["what"].to_pylist() == ["'\tx", "'\rx", "'-x", "+3,5", None]
    assert found["'=name"].to_pylist() == ["-", "-1e5", "'+49 30 123", " =1", "'=1"]


def test_safe_cells_of_categories(tmp_path):
    table = pa.table({"x": pa.array(["=a", "=a", "b", "b"]).dictionary_encode(), "y": [1.0, 2.0, 3.0, 4.0]})
    release = shoal.microaggregate(table, 2, columns=["x"], types={"x": "nominal"}, order="keep")
    (note,) = release.write(tmp_path / "out.csv", safe_cells=True)
    assert note.startswith("2 texts begin")
    assert shoal.read(tmp_path / "out.csv")["x"].to_pylist() == ["'=a", "'=a", "b", "b"]
    one = pa.table({"n": ["=a", "b"], "y": [1.0, 2.0]})
    (note,) = shoal.microaggregate(one, 2, columns="y").write(tmp_path / "out.csv")
    assert note.startswith("1 text begins")


def test_a_fault_of_our_own_is_one_sentence(tmp_path, monkeypatch):
    path = tmp_path / "in.csv"
    shoal.write(survey(20), path)
    monkeypatch.setattr("shoal.engines.memory.prepare", lambda *given: 1 / 0)
    said = call("protect", path, "-k", 2, "-c", "wages", status=3).stderr
    assert "this should not happen, and nothing was released (ZeroDivisionError: division by zero)" in said
    assert said.count("\n") == 1
    monkeypatch.setenv("SHOAL_TRACEBACK", "1")
    assert isinstance(
        CliRunner().invoke(app, ["protect", str(path), "-k", "2", "-c", "wages"]).exception, ZeroDivisionError
    )
    monkeypatch.delenv("SHOAL_TRACEBACK")

    def no_thread(*given):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("shoal.engines.memory.prepare", no_thread)
    assert "the memory does not suffice" in call("protect", path, "-k", 2, "-c", "wages", status=3).stderr


def small_machine():
    """Half of what each of these files would take."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))


def refused_in_little_memory(path, sentence, *words):
    words = [
        sys.executable,
        "-m",
        "shoal",
        "protect",
        path,
        "-k",
        "2",
        "-o",
        path.parent / "out.parquet",
        *words,
    ]
    # Arrow's own pool sets aside gigabytes of addresses that nobody uses, and BLAS some for each core.
    exact = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(words, capture_output=True, text=True, preexec_fn=small_machine, env=exact)
    assert run.returncode == 2, run.stderr
    assert sentence in run.stderr
    assert run.stderr.count("\n") == 1


LONG = "x" * 1_000_000


def repeated(count):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([LONG]))


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    """A Parquet file of each kind, made once: 20 GB in 50 kB, or 1.4 GB in 150 kB of shared beginnings."""
    folder, rows = tmp_path_factory.mktemp("bombs"), 20_000

    def make(kind):
        path = folder / f"{kind}.parquet"
        if path.exists():
            return path
        if kind == "nulls":
            with pq.ParquetWriter(path, pa.schema([("a", pa.int64()), ("b", pa.null())])) as file:
                table = pa.table({"a": pa.nulls(20_000_000, pa.int64()), "b": pa.nulls(20_000_000)})
                for _ in range(20):
                    file.write_table(table, row_group_size=20_000_000)
        elif kind == "shared beginnings":
            table = pa.table({"s": pa.array([LONG] * 450), "n": np.arange(450)})
            options = {"use_dictionary": False, "column_encoding": {"s": "DELTA_BYTE_ARRAY"}}
            with pq.ParquetWriter(path, table.schema, **options) as file:
                for _ in range(3):
                    file.write_table(table)
        else:
            texts = repeated(rows)
            if kind == "lists":
                texts = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32)), texts)
            table = pa.table({"s": texts, "n": np.arange(rows)})
            pq.write_table(table, path, store_schema=kind == "dictionary")
        return path

    return make


KINDS = ["texts", "dictionary", "lists", "shared beginnings", "nulls"]


@pytest.mark.parametrize(
    ("kind", "engine"), [*((kind, "memory") for kind in KINDS), ("lists", "disk"), ("nulls", "disk")]
)
def test_a_small_parquet_file_that_unpacks_to_gigabytes(bomb, kind, engine):
    """Both engines read by `io.packed.PackedFile`, which notices it."""
    words = ["--engine", engine, *(() if kind == "nulls" else ("-c", "n"))]
    refused_in_little_memory(bomb(kind), "unpacks to more than 1000 times its size", *words)


def test_a_long_text_that_repeats_in_arrow(tmp_path):
    path = tmp_path / "bomb.arrow"
    shoal.write(pa.table({"s": repeated(20_000), "n": np.arange(20_000)}), path)
    refused_in_little_memory(path, "unpacks to more than 200 times its size", "-c", "n")


@pytest.mark.parametrize(("version", "order"), [(117, ">"), (118, "<"), (119, ">")])
def test_a_long_text_that_repeats_in_stata(tmp_path, version, order):
    """It lies in the file once, and every row refers to it."""
    path, honest = tmp_path / "bomb.dta", tmp_path / "honest.dta"
    path.write_bytes(stata(version, order, b"x" * 1_000_000, 20_000))
    refused_in_little_memory(path, "unpacks to more than 200 times its size", "-c", "n")
    honest.write_bytes(stata(version, order, b"a long text", 20))
    assert shoal.read(honest)["s"].to_pylist() == ["a long text"] * 20
    for damage in (honest.read_bytes()[:-200], honest.read_bytes().replace(b"GSO", b"XSO")):
        path.write_bytes(damage)
        refused(path, "cannot be read as a file of Stata", "-c", "n")


def stata(version, order, text, rows):
    """A file of Stata with a column n of doubles and one of long texts s, which are all the same."""
    pack = lambda form, *values: struct.pack(order + form, *values)  # noqa: E731
    wide, form, labels = (33, 49, 81) if version == 117 else (129, 57, 321)
    word, columns = b"LSF" if order == "<" else b"MSF", pack("I" if version == 119 else "H", 2)
    # A reference is the column and the row of the text, in eight bytes that are shared out in three ways.
    place = {117: pack("II", 2, 1), 118: b"\2\0\1\0\0\0\0\0", 119: b"\2\0\0\1\0\0\0\0"}[version]
    if order == ">" and version > 117:
        place = {118: b"\0\2\0\0\0\0\0\1", 119: b"\0\0\2\0\0\0\0\1"}[version]
    count = pack("I" if version == 117 else "Q", rows)
    stamp = bytes(1) if version == 117 else bytes(2)
    sections = {
        "": b"<header><release>%d</release><byteorder>%s</byteorder><K>%s</K><N>%s</N><label>%s</label>"
        b"<timestamp>\0</timestamp></header>" % (version, word, columns, count, stamp),
        "map": bytes(14 * 8),
        "variable_types": pack("HH", 65526, 32768),
        "varnames": b"n".ljust(wide, b"\0") + b"s".ljust(wide, b"\0"),
        "sortlist": bytes(12 if version == 119 else 6),
        "formats": b"%9.0g".ljust(form, b"\0") + b"%9s".ljust(form, b"\0"),
        "value_label_names": bytes(2 * wide),
        "variable_labels": bytes(2 * labels),
        "characteristics": b"",
        "data": b"".join(pack("d", row) + place for row in range(rows)),
        "strls": b"GSO"
        + pack("II" if version == 117 else "IQ", 2, 1)
        + b"\x82"
        + pack("I", len(text) + 1)
        + text
        + b"\0",
        "value_labels": b"",
    }
    content, offsets = b"<stata_dta>", [0]
    for name, body in sections.items():
        if name:
            offsets.append(len(content))
        content += b"<%s>%s</%s>" % (name.encode(), body, name.encode()) if name else body
    offsets += [len(content), len(content) + 12]
    content += b"</stata_dta>"
    return content.replace(bytes(14 * 8), pack("14q", *offsets), 1)


def test_workbooks_of_far_rows_and_repeated_texts(tmp_path):
    path = tmp_path / "bomb.xlsx"
    row = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="3000000000"><c r="A3000000000"><v>1</v></c></row>'
    workbook(path, HEAD % b"" + b"<sheetData>" + row + b"</sheetData></worksheet>")
    refused_in_little_memory(path, "more rows than Excel's 1,048,576")
    workbooks.workbook(path, *([text_] for text_ in ["a", *["y" * 30_000] * 20_000]))
    refused_in_little_memory(path, "unpacks to more than 200 times its size")
    empty = b"".join(b'<row r="%d"><c r="XFD%d"/></row>' % (i, i) for i in range(1, 99))
    workbook(path, HEAD % b"" + b"<sheetData>" + empty + b"</sheetData></worksheet>")
    with pytest.raises(InputError, match="more than 50,000 cells"):
        excel.read(path, most_cells=50_000)


def test_every_kind_of_column_comes_through_a_packed_file(tmp_path):
    """What cannot be read as a dictionary first is read in small batches; the outcome is what Arrow reads."""
    n = 3000
    words = [None if j % 7 == 0 else f"word {j % 5}" for j in range(n)]
    table = pa.table(
        {
            "text": words,
            "large": pa.array(words, pa.large_string()),
            "bytes": pa.array(words).cast(pa.binary()),
            "levels": pa.array(words).dictionary_encode(),
            "list": pa.array([[word, "more"] for word in words]),
            "record": pa.array([{"a": word, "b": j} for j, word in enumerate(words)]),
            "map": pa.array([[("k", word)] for word in words], pa.map_(pa.string(), pa.string())),
            "pairs": pa.array([[1, 2]] * n, pa.list_(pa.int64(), 2)),
            "n": np.arange(n),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    assert shoal.read(path).equals(pq.read_table(path))
    views = table.select(["n"]).append_column("view", pa.array(words, pa.string_view()))
    pq.write_table(views, path)
    assert shoal.read(path).equals(table.select(["n"]).append_column("view", table["large"]))
    pq.write_table(table, path, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"})
    assert shoal.read(path).equals(pq.read_table(path))
    assert pq.read_table(path)["n"].to_pylist() == list(range(n))


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        (b"<row r='1'><c s='&gt;' r='A3000000000'><v>1</v></c></row>", "more rows than Excel's"),
        (b'<x:row r="2000000"><x:c><x:v>1</x:v></x:c></x:row>', "more rows than Excel's"),
        (b'<row r="1"><c r="&#65;1"><v>1</v></c></row>', "a cell has no place"),
        (b'<row r="x"><c><v>1</v></c></row>', "a row has no number"),
        (b"<row r=1><c><v>1</v></c></row>", "cells that no program writes"),
    ],
)
def test_no_spelling_hides_a_far_cell(sheet, said, tmp_path):
    path = tmp_path / "in.xlsx"
    workbook(path, HEAD % b"" + b"<sheetData>" + sheet + b"</sheetData></worksheet>")
    with pytest.raises(InputError, match=said):
        shoal.read(path)


def test_parts_with_one_name_and_strange_packages_are_refused(tmp_path):
    path = workbooks.workbook(tmp_path / "in.xlsx", ["a"], [1])
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("XL/worksheets/sheet1.xml", b"<worksheet/>")
    with pytest.raises(InputError, match="two of its parts have one name"):
        shoal.read(path)
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("xl/workbook.xml", b"<workbook/>")
        package.writestr("xl/_rels/workbook.xml.rels", b"<Relationships/>")
    with pytest.raises(InputError, match="it has no sheet"):
        shoal.read(path)
