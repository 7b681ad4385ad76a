"""What columns look like: guesses with their reasons, shown to a person and never acted on unasked."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.frame.column import Column
from shoal.frame.frame import Frame
from shoal.frame.types import read_column, stored_kind

# Names are compared in small letters without accents, words between underscores: `wt.loss` is _wt_loss_.
# English, German, French, Spanish, Italian.
_IDENTIFIER = re.compile(
    r"_(id|uid|uuid|guid|key|ssn|pin|nr|no)_$|^_id_|_(hid|pid|passport|passeport|pasaporte|passaporto|iban|bic)_"
    r"|_(e_?mail|mail|correo|courriel|phone|telephone|telefono?|tel|mobile|handy|cellulare|movil|fax)_"
    r"|_(name|names|surname|lastname|firstname|vorname|nachname|nom|prenom|nombre|apellidos?|nome|cognome)_$"
    r"|telefonn|personal_?nummer|versicherungsnummer|steuernummer|matrikel|kennung|aktenzeichen|codice_fiscale"
    r"|_(address|adresse|direccion|indirizzo|street|strasse|rue|calle)_|strasse_"
    r"|_(zip|zip_?code|post_?code|postal_code|plz|postleitzahl|code_postal|codigo_postal|cap)_"
)
_COUNTED = re.compile(  # what is counted or told of a phone, an address, a name: `phone_calls`, `has_email`
    r"^_(has|nb|count|anzahl|owns)_|_(calls?|count|opened|sent|changes?|moves|bills?|usage|type)_$"
)
_WEIGHT = re.compile(
    r"weight_|_weights?_|weights_|_(wgt|wght|wt|pw|poids|peso|pesi|gewicht|gew|hrf)_"
    r"|wgt_|gewicht_|gewichtung|hochrechnung|ponder|expansion_factor|factor_(de_)?expansion|fattore_(di_)?riporto|_fexp_"
)
_BODY = re.compile(  # what is weighed, or becomes lighter
    r"_(loss|gain|change|body|birth|baby|kg|lbs?|grams?|net|gross|car|vehicle|height|bmi|corps|nacer|nascita)_"
    r"|koerper|korper|geburt|naissance|corporel|corporal|corporeo|nacimiento|bodyweight|birthweight|verlust|perdit"
)
_STRATUM = re.compile(r"strat(um|a|e|o|i)_|schicht_|estrato_")
_CONFIDENTIAL = re.compile(
    r"diagnos|disease|illness|krankheit|maladie|enfermedad|malattia|cancer|krebs|tumou?r|_icd(9|10|11)?_|_hiv_|hiv_"
    r"|religio|criminal|convict|sexual|disab|politic|union_?member|gewerkschaft|behinder|handicap"
    r"|survival|surviv|uberleben|survie|supervivencia|sopravviv|time_to_event|_futime_|_(os|pfs)_(time|days|months)_"
    r"|income|einkommen|_revenus?_|ingresos?_|reddit[oi]_|salar|gehalt|salaire|stipendio|lohn_"
    r"|erkrank|sueldo|net_worth|vermogen|vermoegen|patrimoi?n"
)
_YEAR = re.compile(r"year_|jahr_|_(annee|an|ano|anno|yr|annees?)_|^_year|jahrgang")
_COUNT = re.compile(
    r"_(n|nb|num|number|count|anzahl|anz|numero|numeri|nombre_(de|d)|quantita|cantidad|how_many)_|_(size|groesse|grosse)_$"
    r"|anzahl|children|_kids_|kinder|enfants|_hijos_|_figli_|rooms|zimmer|pieces_|habitaciones|stanze|persons"
    r"|personen|personnes|personas|persone_|visits|besuche|visites|visitas|visite_|_cars_|siblings|employees"
)
_TIME = re.compile(r"^_(time|zeit|temps|tiempo|tempo|days|months)_$")
_STATUS = re.compile(
    r"_(status|event|death|dead|died|cens|censor|censored|fustat|vital_status|tod|deces|muerte|morte)_"
)
#: What cells say of themselves: an address of mail, a number of a phone or of an account.
_CELLS = {
    "e-mail addresses": r"^[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}$",
    "account numbers (IBAN)": r"^[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?$",
    "phone numbers": r"^(\+|00?)[\d ()/.-]{6,20}$",
}
_FEW = 12  # whole numbers with no more distinct values than this may be codes
_ENOUGH = 10  # of fewer records each may have a value of its own by chance
_OWN = 0.9  # texts of which at least this share are distinct look like identifiers
_PART = 100_000  # records that are looked at before all
_CODE = re.compile(r"9+[78]?|7+|8+")
_RARE = 0.1  # zeros that are more than this share are amounts
_MANY = 0.5  # texts of which more than this share are distinct are no categories


@dataclass(frozen=True)
class Guess:
    """What one column looks like."""

    name: Any
    role: str
    type: str | None
    reason: str
    distinct: int
    gaps: int


def guess_roles(frame: Frame) -> list[Guess]:
    """A guess for each column of the table, in order."""
    guesses = [_guess(frame, name) for name in frame.names]
    if any(_STATUS.search(_spelled(name)) for name in frame.names):
        guesses = [
            replace(g, role="confidential", reason="a time beside a status, of survival? published as it is")
            if g.role == "quasi" and _TIME.search(_spelled(g.name))
            else g
            for g in guesses
        ]
    weights = [guess.name for guess in guesses if guess.role == "weight"]
    return [
        replace(guess, role="other", reason=f"a second weight beside {weights[0]!r}")
        if guess.name in weights[1:]
        else guess
        for guess in guesses
    ]


def _spelled(name: Any) -> str:
    """The name in small letters without accents, each word between underscores."""
    plain = unicodedata.normalize("NFKD", str(name).replace("ß", "ss"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{3})(?=ID$)", "_", plain)
    return "_" + re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_") + "_"


def named_like_identifier(name: Any) -> bool:
    word = _spelled(name)
    return bool(_IDENTIFIER.search(word)) and not _COUNTED.search(word)


def named_like_weight(name: Any) -> bool:
    word = _spelled(name)
    return bool(_WEIGHT.search(word)) and not _BODY.search(word)


def identifier_reason(frame: Frame, name: Any) -> str | None:
    """Why a column of texts or whole numbers looks like an identifier; None if it does not."""
    try:
        kind = stored_kind(frame, name)
        if kind in ("boolean", "date"):
            return None
        if kind == "continuous":  # whole numbers with gaps come as fractions
            values = read_column(frame, name).present
            return "its name says so" if named_like_identifier(name) and _all_whole(values) else None
        if named_like_identifier(name):
            return "its name says so"
        cells = frame.arrow(name).drop_null()
        distinct = len(pc.unique(cells))
    except (InputError, pa.ArrowException):
        return None
    alike = len(cells) - distinct
    if len(cells) < _ENOUGH or alike > (0 if kind == "integer" else (1 - _OWN) * len(cells)):
        return None
    return "each record has a value of its own" if not alike else "nearly each record has a value of its own"


def suspected_codes(column: Column) -> list[tuple[Any, int]]:
    """Repeated extremes that look like codes for gaps, far outside the rest; and how often each occurs.

    They are made of nines, sevens or eights (a 7 or 8 may stand after nines), or are -1 to -9 or 0.
    """
    if column.type not in ("integer", "continuous") or column.stored is not None:
        return []
    present = column.present
    ends = ((present.min(), 1), (present.max(), -1)) if len(present) else ()
    if not any(_may_be_code(present, end.item(), inwards) for end, inwards in ends):
        return []
    ordered = np.sort(present)
    found: list[tuple[Any, int]] = []
    for inwards in (ordered[::-1], ordered):
        codes: list[tuple[Any, int]] = []
        rest = inwards
        while len(rest) and _looks_like_code(rest[0].item()):
            codes.append((rest[0].item(), _first_run(rest)))
            rest = rest[codes[-1][1] :]
        while codes and len(rest):
            if _far(codes[-1][0], min(often for _, often in codes), rest):
                found += codes
                break
            rest = inwards[len(inwards) - len(rest) - codes.pop()[1] :]
    return found


def notes_on_codes(columns: Iterable[Column]) -> list[str]:
    """One sentence for each suspected code."""
    return [
        f"column {column.name!r} has {value:.15g} in {records:,} records, far outside the rest: if it stands "
        f"for a gap, name it (--missing-code {column.name}={value:.15g})"
        for column in columns
        for value, records in suspected_codes(column)
    ]


def _may_be_code(present: NDArray, end: float, inwards: int) -> bool:
    """Whether an end of the values may be a code: not if whole numbers go on from it one by one.

    For then it is nearer to the next than `_far` allows, but for 0. This spares the sorting.
    """
    if not _looks_like_code(end) or np.count_nonzero(present == end) < 2:
        return False
    if present.dtype.kind not in "iu":
        return True
    while end and _looks_like_code(end):
        end += inwards
        if not np.any(present == end):
            return True
    return not end


def _looks_like_code(value: float) -> bool:
    digits = f"{abs(value):.15g}".replace(".", "")
    return value == 0 or bool(_CODE.fullmatch(digits)) or value in range(-9, 0)


def _first_run(values: NDArray) -> int:
    """How often the first of these values, in order or in the opposite order, occurs."""
    if values[0] <= values[-1]:
        return int(np.searchsorted(values, values[0], "right"))
    return len(values) - int(np.searchsorted(values[::-1], values[0], "left"))


def _far(code: float, often: int, rest: NDArray) -> bool:
    """Whether a code lies far from the rest, sorted from it inwards; with the codes outside it, each at least
    so often.

    The way to the rest is twice the longest between neighbours in the nearer half of the rest, but for its
    outermost hundredth; or each code is three times as frequent as any value near it. Few digits are
    more often a value: they must occur five times. 0 must be rare, and three times as far away as the
    quartiles are apart, because many amounts are 0.
    """
    n = len(rest)
    if rest[0] == rest[-1] or often < (5 if 0 < code < 10 else 2):
        return False
    hundredth, low, middle, high = (-(-n * share // 100) - 1 for share in (1, 25, 50, 75))
    if code == 0:
        least, most = np.abs(rest[[low, high]].astype(float))
        return bool(often < _RARE * n and least > 3 * (most - least) > 0)
    away = abs(float(rest[0]) - code)
    half = abs(float(rest[middle]) - float(rest[hundredth]))
    if often < 5 and away * (middle - hundredth) < 1.9 * half:  # not even twice the mean of those ways
        return False
    ways = np.abs(np.diff(rest[hundredth : middle + 1].astype(float)))
    longest = ways.max(initial=0.0)
    if often >= 5 or not longest:
        ways = np.abs(np.diff(rest.astype(float)))
        shortest, near = ways[ways > 0].min(), [_first_run(rest)]
        while len(near) < 10 and sum(near) < n:
            near.append(_first_run(rest[sum(near) :]))
        if often >= max(5, 3 * max(near)) and away >= 3 * shortest:
            return True
        longest = longest or (shortest if rest[hundredth] != rest[0] else ways[near[0] - 1])
    return bool(away >= 2 * longest)


def index_roles(frame: Frame, known: Mapping[Any, str]) -> dict[Any, str]:
    """The parts of the table's index that look like identifiers and have no role yet: they are dropped."""
    looks = {name: _guess(frame, name).role for name in frame.index if name not in known}
    return {name: role for name, role in looks.items() if role == "identifier"}


def notes_on_columns(columns: Mapping[Any, Column]) -> list[str]:
    """Columns that were protected though they look like something else."""
    notes = []
    for name, column in columns.items():
        if named_like_identifier(name) or _counts_records(column):
            notes.append(f"column {name!r} looks like an identifier but was averaged like the rest")
        elif named_like_weight(name):
            notes.append(f"column {name!r} looks like a survey weight but was averaged like the rest")
        elif column.type == "integer" and column.gaps is None and _all_differ(column.values):
            notes.append(f"each record has its own value in column {name!r}: is it an identifier?")
    return notes


def _guess(frame: Frame, name: Any) -> Guess:
    stored = stored_kind(frame, name)
    try:
        column = read_column(frame, name, None if stored not in ("text", "other") else "nominal")
    except InputError as error:
        return Guess(name, "other", None, f"cannot be grouped: {error}", 0, 0)
    distinct = len(np.unique(column.present))
    kind, why = _kind(frame, column, stored, distinct)
    role, reason = _role(frame, column, stored, kind, distinct, why)
    return Guess(name, role, kind, reason, distinct, column.gap_count)


def _kind(frame: Frame, column: Column, stored: str, distinct: int) -> tuple[str, str]:
    """The type, and what speaks for it."""
    if stored == "text":
        if distinct <= 2:
            return "boolean", "a text with two values"
        try:
            return read_column(frame, column.name, "date").type, "texts like 2031-12-24"
        except InputError:
            return "nominal", f"a text with {distinct:,} values"
    if stored in ("boolean", "nominal", "ordinal", "date"):
        return stored, f"stored as {stored}"
    if stored == "other":
        return "nominal", "stored as neither number nor text"
    if stored == "continuous" and not _all_whole(column.values):
        return "continuous", "numbers"
    if not (distinct <= _FEW and len(column.values) > 4 * distinct):
        return "integer", "whole numbers"
    values, name = np.unique(column.present), _spelled(column.name)
    if _YEAR.search(name) and len(values) and 1000 <= values[0] <= values[-1] < 3000:
        return "integer", "years"
    if _COUNT.search(name) or (len(values) > 3 and values[0] == 0 and values[-1] == len(values) - 1):
        return "integer", f"{distinct} whole numbers, counts"
    return "nominal", f"{distinct} whole numbers, codes? (ordinal, if in order)"


def _all_whole(values: NDArray) -> bool:
    return bool((values == np.rint(values)).all())


def _role(frame: Frame, column: Column, stored: str, kind: str, distinct: int, why: str) -> tuple[str, str]:
    name = _spelled(column.name)
    records = len(column.present)
    text = stored == "text" and kind != "date"
    if kind not in ("date", "boolean", "continuous") and named_like_identifier(column.name):
        return "identifier", "its name says so"
    if text and (cells := _cells_like(frame, column.name)):
        return "identifier", f"its cells are {cells}"
    if distinct == records > 2 and (text or _counts_records(column)):
        return "identifier", "each record has a value of its own"
    if stored in ("integer", "continuous") and named_like_weight(column.name):
        return "weight", "its name says so"
    if _STRATUM.search(name) and kind in ("nominal", "integer", "boolean"):
        return "stratum", "its name says so"
    if _CONFIDENTIAL.search(name):
        return "confidential", "its name sounds sensitive; published as it is"
    if distinct <= 1:
        return "other", "the same for all records"
    if (text or stored == "other") and distinct > _MANY * records:
        return "other", f"free text? {distinct:,} different values; published as it is"
    if distinct == records > 2 and kind == "integer":
        why += "; each record has its own: an identifier?"
    return "quasi", why


def _cells_like(frame: Frame, name: Any) -> str | None:
    """What most texts of a column are, if one knows them by their letters."""
    cells = frame.arrow(name).drop_null()
    for said, pattern in _CELLS.items():
        if len(cells) and 2 * pc.sum(pc.match_substring_regex(cells, pattern)).as_py() > len(cells):
            return said
    return None


def _counts_records(column: Column) -> bool:
    """Whole numbers that run from first to last without a gap or a repeat."""
    values = column.values
    if column.type != "integer" or values.dtype.kind not in "iu":
        return False
    return int(values.max()) - int(values.min()) == len(values) - 1 and _all_differ(values)


def _all_differ(values: NDArray) -> bool:
    """Whether three or more whole numbers are all different. A few records show most repeats."""
    if len(values) < 3 or int(values.max()) - int(values.min()) < len(values) - 1:
        return False
    return all((np.diff(np.sort(part)) != 0).all() for part in (values[:_PART], values))
