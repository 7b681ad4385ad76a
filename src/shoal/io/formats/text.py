"""CSV and TSV: delimiter, decimal mark and encoding detected; unprotected cells kept as they are written."""

import codecs
import csv
import functools
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.frame.levels import written_out
from shoal.frame.metadata import details_of, with_details
from shoal.io.contents import Contents
from shoal.io.limits import LONGEST_LINE, refuse_bomb, refuse_names, refuse_text

#: What a number may look like. Anything else (a leading zero, a thousands sign) makes a column text.
_INTEGER = r"^\s*[+-]?(0|[1-9][0-9]*)\s*$"
_NUMBER = (
    r"^\s*[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$|^\s*[+-]?(?i:inf|infinity)\s*$"
)
_COMMA_NUMBER = _NUMBER.replace(r"\.", ",")
_GAPS = ("", "NA", "NaN", "nan")
_DELIMITERS = (",", ";", "\t", "|")
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")
_SAMPLE = 1 << 16  # bytes and characters that the dialect is told from
CHUNK = 1 << 24  # bytes looked at together
_PIECE = 1 << 20  # bytes unpacked at a time
_BATCH = 1 << 16  # records written at a time


#: What a column can be: what one part of it needs more than another is what the whole needs.
NOTHING, INTEGER, WIDE, FLOAT, TEXT = range(5)


class Dialect(NamedTuple):
    """How a text file is written."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    eol: str = "\n"

    @classmethod
    def of(cls, facts: dict[str, str]) -> "Dialect":
        """The dialect that these say, or the usual one if no file that we read is written so."""
        given = cls(**{name: word for name, word in facts.items() if name in cls._fields})
        known = (_DELIMITERS, (".", ","), _ENCODINGS, ("\n", "\r\n"))
        return given if all(word in words for word, words in zip(given, known)) else cls()


def read(delimiter: str, compression: str | None, path: Path) -> Contents:
    """Columns of whole numbers, numbers or texts, and every cell as written."""
    return parse(_content(path, compression), str(path), delimiter)


def write(delimiter: str, compression: str | None, table: pa.Table, path: Path) -> None:
    """In the dialect that the table was read in, if it was a text."""
    details = details_of(table).get("text", {})
    dialect = Dialect.of(details.get("dialect", {}))
    if delimiter == "\t" or not details:
        dialect = dialect._replace(delimiter=delimiter)
    with pa.output_stream(str(path), compression=compression) as stream:
        render(table, stream, dialect, details.get("gaps", {}))


def _content(path: Path, compression: str | None) -> pa.Buffer:
    packed = path.stat().st_size
    with pa.input_stream(str(path), compression=compression) as stream:
        if compression is None:
            refuse_text(packed, str(path))
            return stream.read_buffer()
        content = pa.BufferOutputStream()
        part = memoryview(bytearray(_PIECE))  # our own: what `read` sets aside is lost if the file is broken
        while count := stream.readinto(part):
            content.write(part[:count])
            refuse_bomb(content.tell(), packed, str(path))
            refuse_text(content.tell(), str(path))
        return content.getvalue()


def parse(content: pa.Buffer, where: str, delimiter: str = ",") -> Contents:
    """The table in the bytes of a text file, and its cells as texts."""
    view = memoryview(content)
    pieces = [view[begin : begin + CHUNK] for begin in range(0, len(view), CHUNK)]
    dialect = sniff_pieces(pieces, where, delimiter)
    cells = texts(content, dialect, where)
    del content, view, pieces
    candidates = {name: _as_number(cells[name], ".") for name in cells.column_names}
    if dialect.delimiter != ",":
        commas = {n: _as_number(cells[n], ",") for n, numbers in candidates.items() if numbers is None}
        if any(numbers is not None for numbers in commas.values()):  # then a point is no decimal mark
            dialect = dialect._replace(decimal=",")
            whole = {n: f for n, f in candidates.items() if f is not None and pa.types.is_integer(f.type)}
            candidates = {**dict.fromkeys(candidates), **commas, **whole}
    columns, gaps = {}, {}
    for name, numbers in candidates.items():
        columns[name] = cells[name] if numbers is None else numbers
        if numbers is not None and numbers.null_count:
            spelled = cells[name][numbers.is_null().index(True).as_py()].as_py()
            if spelled:
                gaps[name] = spelled
    table = pa.table(columns)
    if dialect != Dialect(delimiter) or gaps:
        table = with_details(table, text={"dialect": dialect._asdict(), "gaps": gaps})
    return Contents(table, cells)


def texts(content: pa.Buffer, dialect: Dialect, where: str, longest: int = LONGEST_LINE) -> pa.Table:
    """Every cell as text. An empty cell is a gap, an empty text in quotes is none."""
    for block in (1 << 20, longest):
        try:
            return _texts(content, dialect, where, block)
        except pa.ArrowInvalid as error:
            if "Expected" in str(error):
                said = ""
                try:  # Arrow tells which row it is if it reads them one after another
                    _texts(content, dialect, where, block, threads=False)
                except pa.ArrowInvalid as slower:
                    said = str(slower)
                raise uneven(said, where) from None
    if len(content) < longest:
        raise InputError(f"{where!r} has no whole line of cells: a table needs a header line and records")
    raise InputError(
        f"{where!r} has a record of more than {longest >> 20} million letters: is a quote left open?"
    )


def uneven(said: str, where: str) -> InputError:
    """The sentence on rows of different lengths, from what Arrow says."""
    row = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said)
    place = f"{row[3]} cells in row {row[1]} but {row[2]} columns" if row else "rows of different lengths"
    return InputError(f"{where!r} has {place}: is a quote or a sign missing?")


def undecodable(error: UnicodeDecodeError, where: str) -> InputError:
    """The sentence on bytes that are no letters."""
    return InputError(f"{where!r} has what is no text in {error.encoding}: save it as UTF-8")


def _texts(content: pa.Buffer, dialect: Dialect, where: str, block: int, threads: bool = True) -> pa.Table:
    """The same; `block` bytes are read together, and no record may be longer."""
    import pyarrow.csv as pacsv

    streams = [Decoded(pa.BufferReader(content), dialect.encoding) for _ in range(2)]
    options = reading(streams[0], dialect, where, block, threads)
    return pacsv.read_csv(streams[1], *options)


class Decoded(io.RawIOBase):
    """A text as UTF-8. No part ends with CR, for Arrow forgets an LF that the next one begins with."""

    def __init__(self, stream: Any, encoding: str):
        self._stream, self._held = stream, b""
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        return True

    def read_buffer(self, size: int = -1) -> pa.Buffer:
        """The same without a copy, where none is needed: Arrow asks for this."""
        if self._decoder is None and not self._held:
            part = self._stream.read_buffer(size)
            self._held = b"\r" if part.size and part[part.size - 1] == 13 else b""
            if part.size != len(self._held):
                return part.slice(0, part.size - len(self._held))
        return pa.py_buffer(self.read(size))

    def read(self, size: int = -1) -> bytes:
        """Some bytes, one or two at the least; none at the end."""
        part, more = self._held, True
        while more and len(part) < 2:
            content = self._stream.read(size)
            more = len(content) > 0
            part += content if self._decoder is None else self._decoder.decode(content, not more).encode()
        self._held = part[-1:] if more and part.endswith(b"\r") else b""
        return part[:-1] if self._held else part


def reading(stream: Any, dialect: Dialect, where: str, block: int, threads: bool) -> tuple[Any, Any, Any]:
    """How Arrow reads such a text: every cell as it is written. The stream is read for its header."""
    import pyarrow.csv as pacsv

    parse_options = pacsv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    read_options = pacsv.ReadOptions(use_threads=threads, block_size=block)
    with pacsv.open_csv(stream, read_options, parse_options) as head:
        names = head.schema.names
    refuse_names(names, where)
    convert = pacsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return read_options, parse_options, convert


def sniff_pieces(pieces: Iterable[memoryview], where: str, delimiter: str = ",") -> Dialect:
    """How a text is written, told from pieces of its bytes, which are gone through a few times."""
    encoding = encoding_of(pieces)
    if not encoding.startswith("utf-16"):
        refuse_nul(pieces, where)
    head = bytes(next(iter(pieces), memoryview(b""))[:_SAMPLE])
    sample = codecs.getincrementaldecoder(encoding)("replace").decode(head)
    eol = "\r\n" if "\r\n" in sample else "\n"
    return Dialect(_delimiter(sample, delimiter), ".", encoding, eol)


def refuse_nul(pieces: Iterable[memoryview], where: str) -> None:
    line = 1
    for part in map(bytes, pieces):
        place = part.find(b"\0")
        if place >= 0:
            line += part.count(b"\n", 0, place)
            raise InputError(f"{where!r} has a NUL byte in line {line}: it is not a text file")
        line += part.count(b"\n")


def encoding_of(pieces: Iterable[memoryview]) -> str:
    """UTF-8 where the bytes allow it, UTF-16 where a mark says so, else Windows' western alphabet."""
    start = bytes(next(iter(pieces), memoryview(b""))[:3])
    if start == codecs.BOM_UTF8:
        return "utf-8-sig"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for part in pieces:
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        unused = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # by Windows; Latin-1 gives every byte back as it was
        return "latin-1" if any(unused.search(part) for part in pieces) else "cp1252"
    return "utf-8"


def _delimiter(sample: str, usual: str) -> str:
    """The sign that cuts the sample's lines into the same number of cells most often."""
    best, best_score = usual, (0.0, 0)
    complete = sample if len(sample) < _SAMPLE // 4 else sample[: sample.rfind("\n")]
    for sign in (usual, *(sign for sign in _DELIMITERS if sign != usual)):
        try:
            counts = [len(row) for row in csv.reader(io.StringIO(complete), delimiter=sign) if row][:200]
        except csv.Error:
            continue
        if not counts or counts[0] < 2:
            continue
        score = (counts.count(counts[0]) / len(counts), counts[0])
        sure = 0.9 if best_score[0] else 0.5  # that the usual sign is not the one
        if score > best_score and (sign == usual or score[0] > sure):
            best, best_score = sign, score
    return best


def _as_number(texts: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray | None:
    """A column of texts as int64 or float64 where every cell is such a number, else None."""
    texts = without_gaps(texts)
    kind = kind_of(texts, decimal)
    if kind not in (INTEGER, FLOAT):
        return None
    try:
        return as_number(texts, kind, decimal)
    except pa.ArrowInvalid:  # more digits than an int64 holds: an identifier, kept as text
        return None


def without_gaps(texts: Any) -> Any:
    """Cells with null for those that stand for a gap in a column of numbers."""
    gap = pc.is_in(texts, value_set=pa.array(_GAPS))
    return pc.if_else(gap, pa.scalar(None, pa.string()), texts)


def kind_of(filled: Any, decimal: str) -> int:
    """What all cells can be, gaps being null."""
    if filled.null_count == len(filled):
        return NOTHING
    number = _NUMBER if decimal == "." else _COMMA_NUMBER
    for pattern, kind in ((_INTEGER, INTEGER), (number, FLOAT)):
        if pc.all(pc.match_substring_regex(filled, pattern), skip_nulls=True).as_py():
            return kind
    return TEXT


def as_number(filled: Any, kind: int, decimal: str) -> Any:
    plain = pc.utf8_ltrim(pc.utf8_trim_whitespace(filled), "+")
    plain = plain if decimal == "." else pc.replace_substring(plain, ",", ".")
    return pc.cast(plain, pa.int64() if kind == INTEGER else pa.float64())


def render(
    table: pa.Table,
    stream: IO[bytes],
    dialect: Dialect,
    gaps: dict[str, str] | None = None,
    header: bool = True,
) -> None:
    """Write a table as text: quotes only where needed, an empty text as two quotes, a gap as nothing."""
    encoder = codecs.getincrementalencoder(dialect.encoding)()
    scalar = functools.partial(pa.scalar, type=pa.large_string())

    def put(columns: list[pa.ChunkedArray]) -> None:
        lines = _join(_join(*columns, scalar(dialect.delimiter)), scalar(dialect.eol), scalar(""))
        content = lines.buffers()[2]
        if dialect.encoding != "utf-8":
            content = encoder.encode(str(content, "utf-8"))
        stream.write(content)

    signs = "".join(_DELIMITERS)  # a name in quotes never misleads whoever looks for the delimiter
    if header:
        put([_quoted(pa.array([name], pa.large_string()), signs) for name in table.column_names])
    alone = '""' if header and len(table.column_names) == 1 else ""  # readers skip a line that is empty
    for begin in range(0, len(table), _BATCH):
        part = table.slice(begin, _BATCH)
        put([_cells(part[name], dialect, (gaps or {}).get(name, alone)) for name in part.column_names])


def _join(*texts: pa.ChunkedArray | pa.Scalar) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(*texts)


def _quoted(texts: pa.ChunkedArray, signs: str) -> pa.ChunkedArray:
    needed = pc.match_substring_regex(texts, f'^$|[{re.escape(signs)}"\r\n]')
    if not pc.any(needed).as_py():
        return texts
    quote, nothing = pa.scalar('"', texts.type), pa.scalar("", texts.type)
    return pc.if_else(needed, _join(quote, pc.replace_substring(texts, '"', '""'), quote, nothing), texts)


def _cells(column: pa.ChunkedArray, dialect: Dialect, gap: str) -> pa.ChunkedArray:
    """The cells of a column as they are written."""
    column = written_out(column.combine_chunks())
    texts = column.cast(pa.large_string())
    if pa.types.is_floating(column.type):  # 7 as 7.0, so that it is read as what it is
        whole = pc.match_substring_regex(texts, r"^-?\d+$")
        nothing = pa.scalar("", texts.type)
        texts = pc.if_else(whole, _join(texts, pa.scalar(".0", texts.type), nothing), texts)
    if dialect.decimal == "," and (pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        texts = pc.replace_substring(texts, ".", ",")
    return pc.fill_null(_quoted(texts, dialect.delimiter), gap)
