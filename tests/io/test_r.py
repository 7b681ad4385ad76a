"""R's own files: what R writes is read, and R reads what is written."""

import bz2
import datetime as dt
import gzip
import lzma
import struct
import subprocess
import sys

import pyarrow as pa
import pytest

import shoal
from shoal.datasets import survey
from shoal.errors import InputError
from shoal.frame.metadata import details_of, with_details
from tests.missing import haven

UTC = dt.UTC
TABLE = pa.table(
    {
        "x": [1.5, None, 3.0, -2e300],
        "n": [1, None, 3, 4],
        "big": [2**40, 1, 2, None],
        "s": ["a", None, "é", ""],
        "b": [True, None, False, True],
        "f": pa.array(["u", "v", None, "u"]).dictionary_encode(),
        "o": pa.DictionaryArray.from_arrays([1, 0, None, 1], ["low", "high"], ordered=True),
        "d": [dt.date(2030, 1, 1), None, dt.date(1900, 1, 1), dt.date(1970, 1, 1)],
        "m": pa.array(
            [dt.datetime(2030, 1, 1, 1, 2, 3, 456789, UTC), None, dt.datetime(1960, 1, 1, tzinfo=UTC), None],
            pa.timestamp("us", "UTC"),
        ),
        "none": pa.nulls(4),
    }
)


def test_every_kind_of_cell_comes_back(tmp_path):
    shoal.write(TABLE, tmp_path / "a.rds")
    found = shoal.read(tmp_path / "a.rds")
    assert found.to_pydict() == TABLE.to_pydict()
    assert pa.types.is_dictionary(found["f"].type)
    assert found["o"].type.ordered
    assert found["n"].type == pa.int32()
    shoal.write(TABLE, tmp_path / "b.rds")
    assert (tmp_path / "a.rds").read_bytes() == (tmp_path / "b.rds").read_bytes()  # no time of writing


LABELLED = with_details(
    TABLE.append_column("sex", pa.array([1.0, 2, 1, None])).append_column("code", pa.array([1, 2, 1, 2])),
    stats={
        "kind": "sav",
        "column_labels": {"sex": "Sex of person"},
        "variable_value_labels": {"sex": [[1.0, "male"], [2.0, "female"]], "code": [[1, "one"]]},
    },
)


def test_labels_come_back(tmp_path):
    shoal.write(LABELLED, tmp_path / "a.rds")
    found = shoal.read(tmp_path / "a.rds")
    assert found.to_pydict() == LABELLED.to_pydict()
    facts, given = details_of(found)["stats"], details_of(LABELLED)["stats"]
    assert facts["column_labels"] == given["column_labels"]
    assert facts["variable_value_labels"] == given["variable_value_labels"]


@pytest.mark.skipif(not haven(), reason="R is not installed")
def test_r_reads_what_is_written_and_writes_what_is_read(tmp_path):
    shoal.write(LABELLED, tmp_path / "in.rds")
    script = """
        suppressMessages(library(haven))
        folder <- commandArgs(TRUE)
        x <- readRDS(file.path(folder, "in.rds"))
        cat(paste(sapply(x, function(c) class(c)[1]), collapse = " "), "\\n")
        cat(attr(x$sex, "label"), as.character(as_factor(x$sex)), levels(x$o), as.character(x$d[1]), "\\n")
        cat(format(x$m[1], "%H:%M:%OS6"), is.na(x$x[2]), nrow(x), "\\n")
        x$seq <- 1:4; x$names <- as.character(c(10, 20, 30, 40)); x$sorted <- sort(c(4, 3, 2, 1))
        x$day <- structure(18262:18265, class = "Date")
        x$latin <- iconv("\\u00e9", "UTF-8", "latin1"); x$far <- 3e9 + 0:3
        for (way in c("gzip", "bzip2", "xz")) {
            saveRDS(x, file.path(folder, paste0(way, ".rds")), compress = way)
        }
        saveRDS(x, file.path(folder, "plain.rds"), compress = FALSE)
        saveRDS(x, file.path(folder, "ascii.rds"), ascii = TRUE)
        saveRDS(1:4, file.path(folder, "vector.rds"))
        x$list <- list(1, 2, 3, 4)
        saveRDS(x, file.path(folder, "list.rds"))
    """
    done = subprocess.run(["Rscript", "-e", script, tmp_path], capture_output=True, text=True, check=True)
    kinds = "numeric integer numeric character logical factor ordered Date POSIXct character haven_labelled"
    assert done.stdout.splitlines()[0].split() == [*kinds.split(), "haven_labelled"]
    assert "Sex of person male female male NA low high 2030-01-01" in done.stdout
    assert "01:02:03.456789 TRUE 4" in done.stdout.replace("03.456788", "03.456789")
    for way in ("gzip", "bzip2", "xz", "plain", "ascii"):
        found = shoal.read(tmp_path / f"{way}.rds")
        assert found.select(TABLE.column_names).to_pydict() == TABLE.to_pydict()
        assert found["seq"].to_pylist() == [1, 2, 3, 4]
        assert found["names"].to_pylist() == ["10", "20", "30", "40"]
        assert found["sorted"].to_pylist() == [1.0, 2.0, 3.0, 4.0]
        assert found["latin"].to_pylist() == ["é"] * 4
        assert found["day"][0].as_py() == dt.date(2020, 1, 1)
        facts = details_of(found)["stats"]
        assert facts["column_labels"] == {"sex": "Sex of person"}
        assert facts["variable_value_labels"]["sex"] == [[1.0, "male"], [2.0, "female"]]
    for name, said in (("vector", "no data frame"), ("list", "holds vec of R")):
        with pytest.raises(InputError, match=said):
            shoal.read(tmp_path / f"{name}.rds")


def test_a_release_of_a_file_of_r(tmp_path):
    shoal.write(survey(60), tmp_path / "in.rds")
    release = shoal.microaggregate(tmp_path / "in.rds", 5, columns=["turnover", "wages"])
    release.write(tmp_path / "out.rds")
    assert all(finding.passed for finding in shoal.check(tmp_path / "out.rds", 5, ["turnover", "wages"]))
    assert shoal.read(tmp_path / "out.rds").num_rows == 60


def test_names_of_rows_are_left_out_with_a_note(tmp_path):
    import pandas as pd
    import rdata

    values = {"a": [1.0, 2.0, 3.0, 4.0], "b": [4.0, 3.0, 2.0, 1.0]}
    for names in (["Ann", "Bob", "Cy", "Di"], None):
        rdata.write_rds(tmp_path / "in.rds", pd.DataFrame(values, names and pd.Index(names, dtype=object)))
        assert shoal.read(tmp_path / "in.rds").to_pydict() == values
        release = shoal.microaggregate(tmp_path / "in.rds", 2, columns=["a", "b"])
        assert any("row names" in note for note in release.notes) == (names is not None)


def test_files_of_r_need_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata", None)
    (tmp_path / "a.rds").write_bytes(b"X")
    with pytest.raises(InputError, match=r"files of R need .*stats"):
        shoal.read(tmp_path / "a.rds")


def test_what_r_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="'a' has whole numbers of more digits than R's"):
        shoal.write(pa.table({"a": [2**60]}), tmp_path / "a.rds")
    with pytest.raises(InputError, match="'a' holds list<"):
        shoal.write(pa.table({"a": [[1]]}), tmp_path / "a.rds")


def word(number):
    return struct.pack(">i", number)


def text(content):
    return word(9) + word(len(content)) + content


HEAD = b"X\n" + word(2) + word(0x40201) + word(0x20300)


def frame(*columns, names=(b"a",)):
    """A data frame as R stores it: a list with names and class."""
    body = word(19 + 0x300) + word(len(columns)) + b"".join(columns)
    said = (
        word(2 + 0x400) + word(1) + text(b"names") + word(16) + word(len(names)) + b"".join(map(text, names))
    )
    said += word(2 + 0x400) + word(1) + text(b"class") + word(16) + word(1) + text(b"data.frame") + word(254)
    return HEAD + body + said


def unmade(name, state):
    """A column that R stores as what it is made from."""
    info = word(2) + word(1) + text(name) + word(2) + word(1) + text(b"base") + word(2) + word(13)
    info += word(1) + word(13) + word(254)
    return word(238) + info + state + word(254)


def sequence(name, *numbers):
    """A sequence that R stores as its length, its first number and its step."""
    return unmade(name, doubles(*numbers))


def doubles(*numbers, said=b""):
    return (
        word(14 + (0x300 if said else 0))
        + word(len(numbers))
        + struct.pack(f">{len(numbers)}d", *numbers)
        + said
    )


def of_class(name):
    return word(2 + 0x400) + word(1) + text(b"class") + word(16) + word(1) + text(name) + word(254)


def test_sequences_of_r(tmp_path):
    content = frame(
        sequence(b"compact_intseq", 3, 5, 1), sequence(b"compact_realseq", 3, 5e9, 1), names=(b"a", b"b")
    )
    (tmp_path / "a.rds").write_bytes(content)
    assert shoal.read(tmp_path / "a.rds").to_pydict() == {"a": [5, 6, 7], "b": [5e9, 5e9 + 1, 5e9 + 2]}


def test_texts_that_r_has_not_spelled_yet(tmp_path):
    numbers = word(2) + doubles(10, 20.5) + word(13) + word(1) + word(0)
    (tmp_path / "a.rds").write_bytes(frame(unmade(b"deferred_string", numbers)))
    assert shoal.read(tmp_path / "a.rds").to_pydict() == {"a": ["10", "20.5"]}


def test_a_file_in_ascii(tmp_path):
    said = "1026\n1\n9\n5\nnames\n16\n1\n9\n2\na\\?\n1026\n1\n9\n5\nclass\n16\n1\n9\n10\ndata.frame\n254\n"
    content = f"A\n2\n262657\n131840\n787\n1\n14\n4\n1.5\nNA\n-Inf\n1e+300\n{said}"
    (tmp_path / "a.rds").write_bytes(gzip.compress(content.encode()))
    assert shoal.read(tmp_path / "a.rds").to_pydict() == {"a?": [1.5, None, float("-inf"), 1e300]}


def test_numbers_of_64_bits(tmp_path):
    cells = struct.pack(">3q", 2**62 + 1, -(2**63), -3)
    (tmp_path / "a.rds").write_bytes(
        frame(doubles(*struct.unpack(">3d", cells), said=of_class(b"integer64")))
    )
    assert shoal.read(tmp_path / "a.rds")["a"].to_pylist() == [2**62 + 1, None, -3]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (frame(sequence(b"compact_intseq", 1e15, 1, 1)), "unpacks to more than 200 times its size"),
        (frame(sequence(b"compact_intseq", float("nan"), 1, 1)), "cannot be read as a file of R"),
        (frame(doubles(1, 2), doubles(1), names=(b"a", b"b")), "its columns differ in length"),
        (frame(doubles(1), doubles(1), names=(b"a", b"a")), "two columns of"),
        (frame(doubles(1e300, said=of_class(b"Date"))), "beyond any calendar"),
        (frame(word(13 + 0x300) + word(1) + word(7) + of_class(b"factor")), "cannot be read as R"),
        (frame(word(16) + word(1) + text(b"\xff")), "what is no text in utf-8"),
        (b"X\n" + word(2) + word(0) + word(0) + word(2) * 100_000, "cannot be read as a file of R"),
        (b"RDX3\n", "save it with saveRDS"),
        (b"A\n2\n262657\n131840\n14\n2000000000\n1\n", "promises 2000000000 values in 32 bytes"),
        (b"A\n2\n262657\n131840\n14\n-5\n", "promises -5 values"),
        (b"A\n2\n262657\n131840\n14\n2\n1\n", "cannot be read as a file of R"),
        (b"A\n2\n262657\n131840\n16\n1\n9\n1\n\\u1234\n", "cannot be read as a file of R"),
        (b"X\n" + word(9), "cannot be read as a file of R"),
        (HEAD + doubles(1, 2), "holds no data frame"),
        (frame(word(19) + word(1) + doubles(1)), "holds vec of R"),
    ],
)
def test_hostile_files_of_r(tmp_path, content, said):
    (tmp_path / "a.rds").write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        shoal.read(tmp_path / "a.rds")
    assert "\n" not in str(caught.value)


@pytest.mark.no_cover
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_bombs_of_r(tmp_path, pack):
    (tmp_path / "a.rds").write_bytes(32 * pack(bytes(1 << 24)))  # pieces one after another are one file
    with pytest.raises(InputError, match="times its size"):
        shoal.read(tmp_path / "a.rds")


def test_more_objects_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.io.limits.memory", lambda: 1 << 22)
    few = frame(word(16) + word(5000) + text(b"") * 5000)
    (tmp_path / "a.rds").write_bytes(few)
    with pytest.raises(InputError, match="more than half of the memory"):
        shoal.read(tmp_path / "a.rds")
