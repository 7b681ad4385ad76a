"""R's own files (.rds) with one data frame, through rdata: factors, dates, moments and labels included.

What `saveRDS` writes is read, packed or not, as bytes or as ASCII. Names of rows are left out, with a note.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError, needs_extra
from shoal.frame.levels import is_text
from shoal.frame.metadata import details_of, with_details
from shoal.io.atomic import first_sentence
from shoal.io.contents import Contents
from shoal.io.limits import refuse_memory, refuse_names, refuse_size

_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_PIECE = 1 << 20  # bytes unpacked at a time
_OBJECT = 600  # bytes that rdata takes for one object, as a cell of text is
_WHOLE = 2**31  # whole numbers of R are smaller than this
_EXACT = 2**53  # those of doubles are


def read(path: Path) -> Contents:
    """The data frame in a file."""
    with needs_extra("files of R need", "stats"):
        import rdata  # noqa: F401
    try:
        content = _unpacked(path)
        if content[:2] not in (b"X\n", b"A\n"):
            raise InputError(f"{str(path)!r} is not what R writes of one data frame: save it with saveRDS()")
        frame = _parsed(content[2:], path, content[:1] == b"A")
        return Contents(_table(frame, str(path)))
    except (InputError, MemoryError, UnicodeDecodeError, pa.ArrowException):
        raise
    except Exception as error:  # nobody knows all that a broken file makes the library raise
        said = f"{str(path)!r} cannot be read as a file of R: {first_sentence(error)}"
        raise InputError(f"{said}; write it again with saveRDS(), without ascii=NA") from None


def _unpacked(path: Path) -> bytes:
    packed = path.stat().st_size
    refuse_memory(packed, str(path))
    with path.open("rb") as file:
        head = file.read(5)
    opened: Any = next((way for sign, way in _PACKED.items() if head.startswith(sign)), open)
    content = bytearray()
    with opened(path, "rb") as file:
        while part := file.read(_PIECE):
            content += part
            refuse_size(len(content), packed, str(path))
    return bytes(content)


def _parsed(content: bytes, path: Path, in_ascii: bool) -> Any:
    """The object in a file; each object in it takes memory, and a short sequence may stand for a long one."""
    from rdata.parser import DEFAULT_ALTREP_MAP, RObjectInfo, RObjectType
    from rdata.parser._ascii import ParserASCII
    from rdata.parser._xdr import ParserXDR

    base: Any = ParserASCII if in_ascii else ParserXDR

    class Parser(base):
        objects = 0

        def _parse_array_values(self, dtype: Any, length: int) -> Any:
            if not 0 <= length <= len(content):  # a value takes a byte or more, whatever the file says
                raise InputError(
                    f"{str(path)!r} promises {length} values in {len(content)} bytes: save it again"
                )
            return super()._parse_array_values(dtype, length)

        def parse_R_object(self, *given: Any, **named: Any) -> Any:
            self.objects += 1
            if self.objects % 1024 == 0:
                refuse_memory(_OBJECT * self.objects, str(path))
            return super().parse_R_object(*given, **named)

    def sequence(state: Any, kind: Any = RObjectType.INT, dtype: type = np.int32) -> Any:
        count, first, step = state.value.tolist()
        refuse_size(int(8 * count), len(content), str(path))
        info = RObjectInfo(kind, object=False, attributes=False, tag=False, gp=0, reference=0)
        return info, (first + step * np.arange(int(count))).astype(dtype)

    def doubles(state: Any) -> Any:
        return sequence(state, RObjectType.REAL, np.float64)

    def spelled(state: Any) -> Any:
        refuse_memory(_OBJECT * len(state.value[0].value), str(path))
        return DEFAULT_ALTREP_MAP[b"deferred_string"](state)

    own = {b"compact_intseq": sequence, b"compact_realseq": doubles, b"deferred_string": spelled}
    known = {**DEFAULT_ALTREP_MAP, **own}
    parser = Parser(memoryview(content), expand_altrep=True, altrep_constructor_dict=known)
    with warnings.catch_warnings(action="ignore"):  # of what it passes over
        return parser.parse_all().object


def _attributes(thing: Any) -> dict[str, Any]:
    found, node = {}, thing.attributes
    while node is not None and isinstance(node.value, tuple):
        tag = node.tag.referenced_object or node.tag
        found[_text(tag.value)] = node.value[0]
        node = node.value[1]
    return found


def _text(char: Any) -> Any:
    """A text of R: its bytes, with a mark for the western alphabet."""
    return None if char.value is None else char.value.decode("latin-1" if char.info.gp & 4 else "utf-8")


def _texts(thing: Any) -> list[Any]:
    return [] if thing is None else [_text(char) for char in thing.value]


def _table(frame: Any, where: str) -> pa.Table:
    from rdata.parser import RObjectType

    said = _attributes(frame)
    if "data.frame" not in _texts(said.get("class")):
        raise InputError(f"{where!r} holds no data frame: save one with saveRDS()")
    names = _texts(said.get("names"))
    refuse_names(names, where)
    columns: dict[str, pa.Array] = {}
    labels, values = {}, {}
    for name, thing in zip(names, frame.value, strict=True):
        told = _attributes(thing)
        columns[name] = _column(name, thing, told)
        if len(columns[name]) != len(columns[names[0]]):
            raise InputError(f"{where!r} cannot be read as a file of R: its columns differ in length")
        if "label" in told:
            labels[name] = _texts(told["label"])[0]
        if "labels" in told:
            marks = np.ma.getdata(told["labels"].value).tolist()
            values[name] = list(zip(marks, _texts(_attributes(told["labels"])["names"])))
    table = pa.table(columns)
    if "row.names" in said and said["row.names"].info.type == RObjectType.STR:
        table = table.replace_schema_metadata({"row names": ""})  # a note tells that they are left out
    if not labels and not values:
        return table
    facts = {"kind": "rds", "column_labels": labels, "variable_value_labels": values}
    return with_details(table, stats=facts)


def _column(name: str, thing: Any, told: dict[str, Any]) -> pa.Array:
    from rdata.parser import RObjectType as Kind

    kind, classes = thing.info.type, _texts(told.get("class"))
    if kind == Kind.STR:
        return pa.array(_texts(thing), pa.string())
    if kind not in (Kind.INT, Kind.REAL, Kind.LGL) or "dim" in told:
        raise InputError(f"column {name!r} holds {kind.name.lower()} of R, not plain values: convert it in R")
    gaps = np.ma.getmaskarray(thing.value)
    values: NDArray = np.ma.getdata(thing.value)
    if "factor" in classes:
        levels = pa.array(_texts(told.get("levels")), pa.string())
        codes, ordered = pa.array(values.astype(np.int32) - 1, mask=gaps), "ordered" in classes
        made = pa.DictionaryArray.from_arrays(codes, levels, ordered=ordered)
        made.validate(full=True)
        return made
    if "integer64" in classes:
        whole = values.view(np.int64)
        return pa.array(whole, mask=whole == np.iinfo(np.int64).min)
    if "Date" in classes or "POSIXct" in classes:
        day, gaps = "Date" in classes, gaps | ~np.isfinite(values)
        number = np.where(gaps, 0.0, values)
        counts = np.floor(number) if day else np.rint(number * 1e6)
        if np.abs(counts).max(initial=0) >= (_WHOLE if day else 2**62):
            raise InputError(f"column {name!r} has moments beyond any calendar: mend it in R")
        array = pa.array(counts.astype(np.int32 if day else np.int64), mask=gaps)
        return array.cast(pa.date32() if day else pa.timestamp("us", "UTC"))
    return pa.array(values, mask=gaps | np.isnan(values) if kind == Kind.REAL else gaps)


def write(table: pa.Table, path: Path) -> None:
    """One data frame; packed as saveRDS does, without the time of writing."""
    with needs_extra("files of R need", "stats"):
        import rdata
    from rdata.conversion import ConverterFromPythonToR
    from rdata.conversion.to_r import build_r_list, build_r_object
    from rdata.parser import RData, RExtraInfo, RObjectType, RVersions

    converter, told = ConverterFromPythonToR(), details_of(table).get("stats", {})

    def thing(values: Any, **said: Any) -> Any:
        """An object with attributes: a text, texts, or numbers and names in a list. Names are numbered so."""
        made = converter.convert_to_r_object(values)
        pairs = [
            (converter.convert_to_r_sym(n), thing(v[0], names=v[1]) if isinstance(v, list) else thing(v))
            for n, v in said.items()
        ]
        attributes = build_r_list(pairs) if pairs else None
        kind, has_class = made.info.type, "class" in said
        return build_r_object(kind, value=made.value, is_object=has_class, attributes=attributes)

    def stored(name: str) -> Any:
        values, said = _parts(name, table[name].combine_chunks())
        pairs = told.get("variable_value_labels", {}).get(name)
        if pairs and not said and values.dtype.kind in "if":
            marks, words = zip(*pairs)
            kind = "double" if values.dtype.kind == "f" else "integer"
            said["class"] = np.array(["haven_labelled", "vctrs_vctr", kind], object)
            said["labels"] = [np.array(marks, values.dtype), np.array(words, object)]
        if told.get("column_labels", {}).get(name):
            said["label"] = told["column_labels"][name]
        return thing(values, **said)

    columns = [stored(name) for name in table.column_names]
    attributes = converter.convert_to_r_attributes(
        {
            "names": np.array(table.column_names, object),
            "class": "data.frame",
            "row.names": np.ma.array([0, -len(table)], mask=[True, False], dtype=np.int32),
        }
    )
    frame = build_r_object(RObjectType.VEC, value=columns, is_object=True, attributes=attributes)
    content = rdata.unparser.unparse_data(RData(RVersions(3, 0x40201, 0x30500), RExtraInfo("UTF-8"), frame))
    path.write_bytes(gzip.compress(content, mtime=0))


def _parts(name: str, cells: pa.Array) -> tuple[NDArray, dict[str, Any]]:
    """What R stores of a column: an array, and its attributes."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        classes = np.array(["ordered", "factor"] if kind.ordered else ["factor"], object)
        levels = np.array(list(map(str, cells.dictionary.to_pylist())), object)
        codes = pc.add(cells.indices.cast(pa.int32()), 1).fill_null(0)
        return _masked(codes, cells), {"levels": levels, "class": classes}
    if is_text(kind) or pa.types.is_null(kind):
        return np.array([*cells.to_pylist(), None], object)[:-1], {}
    if pa.types.is_boolean(kind):
        return _masked(cells.fill_null(False), cells), {}
    if pa.types.is_date(kind):
        return _doubles(cells.cast(pa.date32()).cast(pa.int32())), {"class": "Date"}
    if pa.types.is_timestamp(kind):
        moments = cells.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        return _doubles(moments, 1e6), {"class": np.array(["POSIXct", "POSIXt"], object), "tzone": "UTC"}
    if pa.types.is_integer(kind):
        ends = pc.min_max(cells).as_py()
        most = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
        if most < _WHOLE:
            return _masked(cells.fill_null(0).cast(pa.int32()), cells), {}
        if most >= _EXACT:
            raise InputError(
                f"column {name!r} has whole numbers of more digits than R's: write another format"
            )
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _doubles(cells), {}
    raise InputError(
        f"column {name!r} holds {kind}, which R's files have not: leave it out, or write Parquet"
    )


def _masked(values: pa.Array, cells: pa.Array) -> NDArray:
    gaps = cells.is_null().to_numpy(zero_copy_only=False)
    return np.ma.array(values.to_numpy(zero_copy_only=False), mask=gaps)  # type: ignore[no-untyped-call]


def _doubles(cells: pa.Array, unit: float = 1.0) -> NDArray:
    """The numbers in units, with R's own sign for a gap, which is one of the many that are no number."""
    from rdata.missing import R_FLOAT_NA

    values = cells.fill_null(0).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.where(cells.is_null().to_numpy(zero_copy_only=False), R_FLOAT_NA, values / unit)
