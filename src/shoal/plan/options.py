"""The fields of a plan as options of the command line: how each is typed, read, and written again."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.errors import InputError
from shoal.plan.steps import read_join


class Option(NamedTuple):
    """One field; `shape` is a key of `SHAPES`."""

    field: str
    flags: tuple[str, ...]
    shape: str
    metavar: str | None
    help: str

    def read(self, given: Any) -> Any:
        """The field's value, of what was typed."""
        return SHAPES[self.shape].read(given, self.flags[-1])

    def write(self, value: Any) -> list[str]:
        """The words to type; each stands after the flag, a switch alone."""
        if self.shape == "switch":
            return [self.flags[-1]] if value else []
        return [f"{self.flags[-1]}={word}" for word in SHAPES[self.shape].write(value)]


class Shape(NamedTuple):
    """How values are typed: once (a text, a number, a switch) or again and again (`list`)."""

    kind: Any
    read: Callable[[Any, str], Any]
    write: Callable[[Any], list[str]]


def split(word: str, option: str = "-k") -> list[str]:
    """Words separated by commas; one with a comma stands in double quotes."""
    words = next(csv.reader([word], skipinitialspace=True), [""])
    if not all(words) and word != '""':
        raise InputError(
            f"{option} {word!r} is no list such as a,b,c: something is missing at a comma".strip()
        )
    return words


def listed(words: Sequence[str] | None, option: str) -> list[str]:
    """Words that were typed with commas, or one option after another."""
    return [name for word in words or () for name in split(word, option)]


def _quoted(name: Any) -> str:
    text = str(name)
    plain = not (text == "" or text[0] == " " or set(text) & set(',"\n\r'))
    return text if plain else '"' + text.replace('"', '""') + '"'


def scalar(text: str) -> Any:
    """A number where it reads as one, else the text."""
    try:
        return json.loads(text) if text[:1] in "-0123456789" else text
    except (json.JSONDecodeError, ValueError):
        return text


def _assigned(words: Sequence[str], option: str, commas: bool = True) -> list[tuple[str, str]]:
    """`column=word`, several with commas between; the column's name may itself hold an equals sign."""
    pairs = []
    for text in listed(words, option) if commas else words:
        name, sign, word = text.rpartition("=")
        if not sign:
            raise InputError(f"{option} takes COLUMN=WORD, not {text!r}")
        pairs.append((name, word))
    return pairs


def _codes(words: Sequence[str], option: str) -> Any:
    if not any("=" in word for word in words):
        return [scalar(text) for text in listed(words, option)]
    codes: dict[str, list[Any]] = {}
    for name, word in _assigned(words, option, commas=False):
        codes.setdefault(name, []).extend(map(scalar, split(word, option)))
    return codes


def _rules(words: Sequence[str], option: str) -> dict[str, Any]:
    """`column=rule`, several with commas between; a rule such as recursive:3,2 has commas of its own."""
    texts: list[str] = []
    for part in listed(words, option):
        if "=" in part or not texts:
            texts.append(part)
        else:
            texts[-1] += f",{part}"
    return {name: scalar(rule) for name, rule in _assigned(texts, option, commas=False)}


def _joins(words: Sequence[str], option: str) -> dict[str, dict[str, Any]]:
    joins: dict[str, dict[str, Any]] = {}
    for name, word in _assigned(words, option, commas=False):
        title, members = read_join(name, word)
        joins.setdefault(name, {})[title] = members
    return joins


_BETWEEN = re.compile(r",(?=\s*\w+=)")  # a comma before NAME=


def _settings(words: Sequence[str], option: str) -> dict[str, Any]:
    """Numbers, true, false, null and lists are taken as such, the rest as text."""
    values: dict[str, Any] = {}
    for setting in [part for word in words for part in _BETWEEN.split(word)]:
        name, sign, text = setting.partition("=")
        if not sign or not name:
            raise InputError(f"{option} takes NAME=VALUE, such as gamma=0.2, not {setting!r}")
        try:
            values[name.strip()] = json.loads(text)
        except (ValueError, RecursionError):
            values[name.strip()] = text
    return values


def _pairs(value: Mapping[Any, Any]) -> list[str]:
    return [_quoted(f"{name}={word}") for name, word in value.items()]


def _lists(value: Mapping[Any, Sequence[Any]]) -> list[str]:
    return [f"{name}={_row(words)}" for name, words in value.items()]


def _row(words: Sequence[Any]) -> str:
    return ",".join(map(_quoted, words))


SHAPES: dict[str, Shape] = {
    **{
        name: Shape(kind, lambda value, flag: value, lambda value: [str(value)])
        for name, kind in (("word", str), ("whole", int), ("number", float), ("switch", bool))
    },
    "names": Shape(list, listed, lambda names: [*map(_quoted, names)]),
    "blocks": Shape(
        list, lambda words, flag: [split(w, flag) for w in words], lambda value: [*map(_row, value)]
    ),
    "pairs": Shape(list, lambda words, flag: dict(_assigned(words, flag)), _pairs),
    "word or pairs": Shape(
        list,
        lambda words, flag: (
            words[0] if "=" not in words[0] and not words[1:] else dict(_assigned(words, flag))
        ),
        lambda value: [value] if isinstance(value, str) else _pairs(value),
    ),
    "rules": Shape(list, _rules, _pairs),
    "numbers": Shape(list, lambda words, flag: {n: scalar(w) for n, w in _assigned(words, flag)}, _pairs),
    "lists": Shape(
        list, lambda words, flag: {n: split(w, flag) for n, w in _assigned(words, flag, False)}, _lists
    ),
    "codes": Shape(
        list, _codes, lambda value: _lists(value) if isinstance(value, Mapping) else [_row(value)]
    ),
    "joins": Shape(
        list,
        _joins,
        lambda value: [
            f"{name}={title}:{members if title == 'rare' else _row(members)}"
            for name, titles in value.items()
            for title, members in titles.items()
        ],
    ),
    "settings": Shape(
        list,
        _settings,
        lambda value: [f"{n}={v if isinstance(v, str) else json.dumps(v)}" for n, v in value.items()],
    ),
}


def _option(name: str, shape: str, metavar: str | None, said: str, *flags: str) -> Option:
    return Option(name, flags or (f"--{name.replace('_', '-')}",), shape, metavar, said)


OPTIONS: tuple[Option, ...] = (
    _option("columns", "names", "COL", "A column to protect; default: every numeric", "-c", "--column"),
    _option("method", "word", "METHOD", "See `shoal methods`; default: auto", "-m", "--method"),
    _option("parameters", "settings", "NAME=VALUE", "A parameter of the method", "--set"),
    _option("types", "pairs", "COL=TYPE", "What a column holds, such as nominal", "--type"),
    _option("levels", "lists", "COL=A,B,..", "Levels of an ordinal column, lowest first"),
    _option("roles", "pairs", "COL=ROLE", "What a column is, such as identifier (dropped)", "--role"),
    _option("keep", "names", "COL", "Publish this column as it is, though it may tell much"),
    _option("unit", "names", "COL", "Whom k counts: a household, a firm, a person over years"),
    _option("by_record", "names", "COL", "Group over records what is the same within each unit"),
    _option("strata", "names", "COL", "Groups never cross the values of this column", "--stratum"),
    _option("merge_small_strata", "switch", None, "Merge strata short of k with the most similar"),
    _option("weight", "word", "COL", "Survey weights, for centroids and loss"),
    _option("known", "names", "COL", "A kept column that an intruder may know, for risks"),
    _option("missing", "word", "WORD", "What to do with gaps: group, impute, error or drop"),
    _option("missing_codes", "codes", "[COL=]CODE", "A value that stands for a gap", "--missing-code"),
    _option("zeros", "word", "WORD", "value, or group: zeros are grouped apart"),
    _option("contributors", "whole", "N", "Units that each published cell is made of; default: 2"),
    _option("contributor_share", "number", "SHARE", "The most weight that one unit has in it; default: 0.9"),
    _option("thin", "word", "WORD", "Cells of too few: widen their group, or publish a gap"),
    _option("diversity", "rules", "COL=RULE", "Values of a confidential column in each group: 3, entropy:2"),
    _option("closeness", "rules", "COL=RULE", "How far from the whole table: 0.2, beta:1, delta:1"),
    _option("dominance", "rules", "COL=RULE", "The largest in a group's sum: 1:80, p:10, pq:10,50"),
    _option("spread", "rules", "COL=RULE", "Standard deviations that a group's values span: 0.2, rel:0.1"),
    _option("scaling", "word or pairs", "[COL=]WORD", "standard, robust, range, rank or none"),
    _option("log", "names", "COL", "Group this column by its logarithm"),
    _option("column_weights", "numbers", "COL=W", "A column's share in distances", "--column-weight"),
    _option("centroids", "word or pairs", "[COL=]WORD", "mean, median, trimmed or mode", "--centroid"),
    _option("blocks", "blocks", "A,B,..", "Group these columns on their own", "--block"),
    _option("per_column", "switch", None, "Group each column alone: k holds per column, not per record"),
    _option("preserve", "word", "WORD", '"totals" keeps the totals of whole numbers'),
    _option("order", "word", "WORD", "Of rows in the file: shuffle, or keep; default: shuffle"),
    _option("top", "numbers", "COL=VALUE", "Cap values above this, or above a share of all (q0.99)"),
    _option("bottom", "numbers", "COL=VALUE", "Cap values below this, or below a share of all (q0.01)"),
    _option("regroup", "joins", "COL=NEW:A,B", "Join levels under a new name; COL=rare:20 joins rare ones"),
    _option("round", "numbers", "COL=2", "Round what is published: decimals, sig:3 or base:5"),
    _option("decimals", "switch", None, "Round to as many decimals as the original shows"),
    _option("pseudonyms", "word", "KEYFILE", "Publish units as new numbers, made under this private key"),
    _option("seed", "whole", "N", "The same seed gives the same release; default: 0"),
    _option("time_limit", "number", "SECONDS", "Return the best found by then"),
)

#: Fields that name columns.
_BY_COLUMN = ("names", "blocks", "pairs", "word or pairs", "numbers", "rules", "lists", "joins", "codes")
ABOUT_COLUMNS = ("weight", *(option.field for option in OPTIONS if option.shape in _BY_COLUMN))
#: Of these, those that may say one thing for all columns.
FOR_ALL = tuple(option.field for option in OPTIONS if option.shape in ("word or pairs", "codes"))
