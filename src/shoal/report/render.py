"""The model as HTML, JSON or text."""

import functools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.io.atomic import replacing
from shoal.measures.measure import digits, shown
from shoal.report.audit import sentences
from shoal.report.drawing import Picture, visible


def write(model: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a report; the ending tells how it is rendered. It appears whole or not at all."""
    text = render(model, report_format(path))
    with replacing(Path(path), private=model["edition"] == "internal") as part:
        part.write_text(text, encoding="utf-8")


def report_format(path: str | os.PathLike[str]) -> str:
    """The rendering that a file's ending stands for."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"a report ends in {', '.join(ENDINGS)}, not in {ending!r}: rename it")
    return ENDINGS[ending]


def render(model: Mapping[str, Any], kind: str = "html") -> str:
    """The report as one text: kind is "html", "json" or "text"."""
    return RENDERERS[kind](model)


def to_json(model: Mapping[str, Any]) -> str:
    return json.dumps(model, indent=1, allow_nan=False) + "\n"


# --- HTML ----------------------------------------------------------------------------------------------


def to_html(model: Mapping[str, Any]) -> str:
    """One file with everything in it: style and pictures inline, nothing fetched, no script."""
    said = sentences(model["audit"], model["outcome"]["records"]) if "audit" in model else []
    return _template().render(**model, pictures=_pictures(model), said=said)


@functools.cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def cell(value: Any) -> Any:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    page = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=cell,
    )
    page.filters |= {"shown": shown, "digits": digits, "setting": _setting, "count": lambda v: f"{v:,}"}
    return page.get_template("report.html")


def _setting(value: Any) -> str:
    """A setting of the plan in plain words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_setting(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_setting, value))
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _pictures(model: Mapping[str, Any]) -> dict[str, Any]:
    from markupsafe import Markup

    from shoal.report import figures

    lost = model["utility"]
    internal = model["edition"] == "internal"
    pictures: dict[str, Picture] = {}
    if "information_loss" in lost:
        loss = lost["information_loss"]
        bound = model["bound"]["information_loss"] if internal and model["bound"] else None
        pictures["loss"] = figures.loss_by_column(loss["columns"], loss["overall"], bound)
    if "correlations" in lost:
        pictures["correlations"] = figures.correlation_change(lost["correlations"]["detail"])
    if internal:
        before, after = model["risk"]["before"], model["risk"]["after"]
        pictures["sizes"] = figures.group_sizes(model["outcome"]["sizes"], model["outcome"]["counted"])
        were, are = (side["linkage"]["detail"]["by_known_columns"] for side in (before, after))
        pictures["linkage"] = figures.linkage(were, are, model["outcome"]["k"])
        if model["map"]:
            pictures["map"] = figures.record_map(model["map"])
        if model["why_k"]["comparison"]:
            pictures["tradeoff"] = figures.risk_utility_map(model["why_k"]["comparison"])
    drawn: dict[str, Any] = {name: Markup(picture.svg()) for name, picture in pictures.items()}
    shapes = enumerate(model["distributions"] if internal else ())
    return drawn | {"distributions": [Markup(figures.distribution(i, facts).svg()) for i, facts in shapes]}


# --- text ----------------------------------------------------------------------------------------------


def to_text(model: Mapping[str, Any]) -> str:
    """For the terminal: the same facts without pictures."""
    outcome, internal = model["outcome"], model["edition"] == "internal"
    lines = [f"REPORT ON A PROTECTED TABLE ({model['edition']} edition, {model['created']})"]
    lines += [outcome["headline"], ""]
    lines += _block(
        "What was done",
        [
            ("records", f"{outcome['records']:,}"),
            ("columns protected", ", ".join(outcome["columns"])),
            ("published as they are", ", ".join(outcome["kept"]) or "no column"),
            *(("each group has", one["said"]) for one in outcome.get("requirements", ())),
            *(("recoded", step) for step in outcome["steps"]),
            *(("lost by recoding", f"{n} {lost:.4g} %") for n, lost in outcome["recoding_loss"].items()),
            ("k", str(outcome["k"])),
            ("method", f"{outcome['method_title']} ({outcome['paper']})"),
            ("groups", f"{outcome['groups']:,}, the smallest of {outcome['smallest_group']} records"),
            ("promise", outcome["promise"]),
        ],
    )
    if internal:
        origin = model["provenance"]
        lines += _block(
            "Where it comes from",
            [
                ("source", origin["source"] or "a table in memory"),
                *[(f"sha256, {what}", value) for what, value in origin["sha256"].items()],
                ("seed", str(origin["plan"]["seed"])),
                ("versions", ", ".join(f"{n} {v}" for n, v in origin["versions"].items())),
                ("replay", origin["replay"]),
            ],
        )
        lines += ["Why this k", *[f"  {reason}" for reason in model["why_k"]["reasons"]], ""]
    overall = lambda measure: shown(measure["overall"], measure["unit"])  # noqa: E731
    rows = [(m["title"], overall(m)) for m in model["utility"].values()]
    if internal and model["bound"]:
        least, gap = model["bound"]["information_loss"], model["bound"]["gap"]
        rows.insert(1, ("Proven least loss", shown(least, "%")))
        rows.insert(2, ("Gap to it", shown(gap, "share")))
    lines += _block("What was lost", rows)
    if internal:
        before, after = model["risk"]["before"], model["risk"]["after"]
        rows = [
            (m["title"], f"{overall(before[key])} before, {overall(m)} after") for key, m in after.items()
        ]
        lines += _block("What is at risk", rows)
        said = sentences(model["audit"], outcome["records"]) or ["Nothing implausible was found."]
        lines += ["Audit of implausible values", *[f"  {sentence}" for sentence in said], ""]
        notes = [*outcome["notes"], *model["notes"]]
        if notes:
            lines += ["Notes", *[f"  {note}" for note in notes], ""]
    return "\n".join(visible(line) for line in lines) + "\n"


def _block(title: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows) + 2
    return [title, *[f"  {name:<{width}}{value}" for name, value in rows], ""]


ENDINGS = {".html": "html", ".htm": "html", ".json": "json", ".txt": "text"}
RENDERERS = {"html": to_html, "json": to_json, "text": to_text}
