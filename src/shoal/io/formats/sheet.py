"""A sheet's XML, looked through before calamine makes room for its cells: how far they lie, of what kinds."""

import re
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache

from shoal.errors import InputError

_ATTRIBUTES = rb"""((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>"""
_USUAL = rb"""(?:\s+r="([A-Z]*\d+)")?(?:\s+s="\d+")?(?:\s+t="(\w+)")?"""  # as programs write them
_TAG = re.compile(rb"<(?:\w+:)?(row|c)" + _USUAL + _ATTRIBUTES)
_ANY_TAG = re.compile(rb"<(?:\w+:)?(?:row|c)[\s/>]")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell" + _ATTRIBUTES)
_VALUE = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?>([^<]*)<")
_SHARED = re.compile(rb"<(?:\w+:)?si\b.*?</(?:\w+:)?si>", re.DOTALL)
_PLACE = re.compile(rb"([A-Z]{1,3})(\d{1,12})")
_TEXTS = {"s", "str", "inlineStr"}


@dataclass
class Sheet:
    """What a sheet holds. Rows and columns count from 1; kinds are those of cells under the `header` row."""

    header: int
    last_row: int = 0
    last_column: int = 0
    rows: Counter[int] = field(default_factory=Counter)  # cells with content by row
    columns: list[int] = field(default_factory=list)  # those with content
    named: set[int] = field(default_factory=set)  # those with content in the header row
    kinds: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    merged: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)  # top, bottom, left, right
    letters: int = 0  # of shared texts, each as often as it is used
    _places: dict[tuple[int, str], dict[int, str]] = field(default_factory=lambda: defaultdict(dict))

    def by_column(self) -> list[set[str]]:
        """The kinds of each column, from the first that has content to the last."""
        return [self.kinds.get(at, set()) for at in range(min(self.columns), max(self.columns) + 1)]

    def texts(self, at: int) -> dict[int, str]:
        """The rows of a column (counted as by `by_column`) that hold texts."""
        return self._places[min(self.columns) + at, "text"]

    def errors(self, at: int) -> dict[int, str]:
        """Row -> error, such as #N/A."""
        return self._places[min(self.columns) + at, "error"]


def scan(package: zipfile.ZipFile, part: str, header: int) -> Sheet:
    """Look through a sheet. What is not as Excel writes it is refused: a reader may see it otherwise."""
    xml = package.read(part)
    start = xml[:200].lower()
    if (
        b"<!doctype" in xml[:5000].lower()
        or start.startswith((b"\xff\xfe", b"\xfe\xff"))
        or b"utf-16" in start
    ):
        raise InputError("the workbook cannot be read as Excel: a sheet declares what no program writes")
    sheet, shared = Sheet(header), Counter[bytes]()
    row = column = seen = 0
    for tag in _TAG.finditer(xml):
        seen += 1
        name, place, word, rest, closed = tag.groups()
        if rest:
            place, word = place or _attribute(rest, b"r"), word or _attribute(rest, b"t")
        if name == b"row":
            if place and (not place.isdigit() or len(place) > 12):
                raise InputError("the workbook cannot be read as Excel: a row has no number")
            row, column = int(place) if place else row + 1, 0
            continue
        if place:
            row, column = _at(place)
        else:
            column += 1
        if row > sheet.last_row or column > sheet.last_column:
            sheet.last_row, sheet.last_column = max(sheet.last_row, row), max(sheet.last_column, column)
        if closed:
            continue
        sheet.rows[row] += 1
        kind = _kind(word)
        if word == b"s":
            found = _VALUE.search(xml, tag.end(), tag.end() + 200)
            shared[found[1] if found else b""] += 1
        if row == header:
            sheet.named.add(column)
        elif row > header:
            sheet.kinds[column].add(kind)
            if kind == "text":
                sheet._places[column, kind][row] = ""
            elif kind == "error":
                found = _VALUE.search(xml, tag.end(), tag.end() + 5000)
                sheet._places[column, kind][row] = found[1].decode() if found else "#N/A"
    if seen != len(_ANY_TAG.findall(xml)):
        raise InputError("the workbook cannot be read as Excel: a sheet has cells that no program writes")
    sheet.columns = sorted({*sheet.named, *sheet.kinds})
    for tag in _MERGED.finditer(xml):
        block = (_attribute(tag[1], b"ref") or b"A1").decode(errors="replace")
        first, _, last = block.partition(":")
        (top, left), (bottom, right) = _at(first.encode()), _at((last or first).encode())
        sheet.merged[block] = (top, bottom, left, right)
    sheet.letters = _letters(package, shared)
    return sheet


def _letters(package: zipfile.ZipFile, used: Counter[bytes]) -> int:
    """How many bytes the shared texts have, written out for each cell."""
    part = next((name for name in package.namelist() if name.lower() == "xl/sharedstrings.xml"), None)
    if part is None or not used:
        return 0
    sizes = [len(text[0]) for text in _SHARED.finditer(package.read(part))]
    return sum(
        count * sizes[int(place)]
        for place, count in used.items()
        if place.isdigit() and len(place) < 10 and int(place) < len(sizes)
    )


@cache
def _kind(word: bytes | None) -> str:
    if word is None or word == b"n":
        return "number"
    kind = word.decode(errors="replace")
    return "text" if kind in _TEXTS else {"b": "truth", "e": "error", "d": "moment"}.get(kind, "text")


def _attribute(text: bytes, name: bytes) -> bytes | None:
    found = re.search(rb"\s" + name + rb"""\s*=\s*(?:"([^"]*)"|'([^']*)')""", text)
    return None if found is None else found[1] if found[1] is not None else found[2]


@cache
def _column(word: bytes) -> int:
    column = 0
    for letter in word:
        column = 26 * column + letter - 64
    return column


def _at(place: bytes) -> tuple[int, int]:
    """The row and the column of a cell such as AB12."""
    found = _PLACE.fullmatch(place)
    if found is None:
        raise InputError("the workbook cannot be read as Excel: a cell has no place")
    return int(found[2]), _column(found[1])


def letters(column: int) -> str:
    """What Excel calls a column: A, B, .. AA."""
    word = ""
    while column:
        column, rest = divmod(column - 1, 26)
        word = chr(65 + rest) + word
    return word
