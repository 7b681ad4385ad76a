"""Pin every package, with the hash of every file that the registry has of it: `python -m tools.pins`.

Writes constraints/*.txt, which `make` hands to `pip install --no-deps --require-hashes -r`. Versions that
stand there stay; `--upgrade` takes the newest that go together. A package gets a marker where only some
versions of Python or some systems need it. Asks the registry that pip asks (its setting
`index-url`, or pip's own default); no address is written down. Run it in `.venv`, then
`python -m docs.make_dependencies`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "constraints"

#: What pins are made for; a later Python is taken to need what the last one does.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {
    "linux": ("posix", "Linux", ("x86_64", "aarch64")),
    "darwin": ("posix", "Darwin", ("x86_64", "arm64")),
    "win32": ("nt", "Windows", ("AMD64", "ARM64")),
}
EVERYWHERE = frozenset((python, system) for python in PYTHONS for system in SYSTEMS)

#: Each file: the file that it goes on from, and what it adds: the core, an extra, or a package by its name.
#: `build` comes first into each environment: hatchling for shoal, setuptools for pyspark, which has no wheel.
FILES: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "build": (None, ("build", "setuptools")),
    "core": (None, ("core",)),
    "app": ("core", ("app", "stats")),
    "dev": ("app", ("spark", "sql", "duckdb", "dev")),
    "docs": ("dev", ("docs",)),
    "bench": ("dev", ("microagg1d",)),
}

HEAD = """# Every package of {what}, with the hash of every file that the registry has of it.
# Written by `python -m tools.pins`; `make` installs it with `pip install --no-deps --require-hashes -r`.
"""
LINE = re.compile(r"([\w.-]+)==([^\s;]+)(?: ; ([^\\\n]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")

Place = tuple[str, str]  # a version of Python and a system


class Pin(NamedTuple):
    """One package of one file."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def read(file: str) -> list[Pin]:
    """The pins of one file, without those of the file that it goes on from."""
    text = (FOLDER / f"{file}.txt").read_text()
    return [
        Pin(name, version, marker, tuple(re.findall("[0-9a-f]{64}", hashes)))
        for name, version, marker, hashes in LINE.findall(text)
    ]


def with_base(file: str) -> list[Pin]:
    """The pins of a file and of all that it goes on from."""
    base = FILES[file][0]
    return [*(with_base(base) if base else []), *read(file)]


def pinned() -> dict[str, Pin]:
    """Every pinned package, by a name that spelling does not change."""
    return {canonicalize_name(pin.name): pin for file in FILES for pin in read(file)}


def installed_needs() -> dict[str, list[str]]:
    """What the pinned packages need, by their own word, as far as they are installed."""
    made = {}
    for name in pinned():
        with contextlib.suppress(metadata.PackageNotFoundError):
            made[name] = metadata.requires(name) or []
    return made


def wanted() -> dict[str, list[str]]:
    """What pyproject.toml asks for: to build, for the core, for each extra."""
    made = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = made["project"]
    groups = {"build": made["build-system"]["requires"], "core": project["dependencies"]}
    return groups | {name: texts for name, texts in project["optional-dependencies"].items() if name != "all"}


def roots(file: str) -> list[Requirement]:
    """What a file is there for."""
    groups = wanted()
    return [Requirement(text) for name in FILES[file][1] for text in groups.get(name, [name])]


def holds(marker: str, place: Place, *extras: str) -> bool:
    """Whether a marker is true at one place, on any kind of machine and for any of these extras."""
    python, system = place
    os_name, platform_system, machines = SYSTEMS[system]
    facts = {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": os_name,
        "platform_python_implementation": "CPython",
        "platform_system": platform_system,
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": system,
    }
    cases = [
        facts | {"platform_machine": kind, "extra": extra} for kind in machines for extra in ("", *extras)
    ]
    return any(Marker(marker).evaluate(case) for case in cases)


def needs(requires: Iterable[str], extras: Iterable[str], place: Place) -> list[Requirement]:
    """What a package with these extras needs at one place."""
    found = [Requirement(text) for text in requires]
    return [one for one in found if one.marker is None or holds(str(one.marker), place, *extras)]


def walk(
    asked: Iterable[Requirement], requires: Mapping[str, list[str]], place: Place
) -> Iterator[tuple[str, Requirement]]:
    """Each need that follows from these at one place, the nearest first, with the package that has it."""
    waiting, seen = [("", one) for one in asked], set()
    for parent, one in waiting:
        yield parent, one
        name = canonicalize_name(one.name)
        if (kind := (name, frozenset(one.extras))) not in seen:
            seen.add(kind)
            waiting += [(name, need) for need in needs(requires.get(name, []), one.extras, place)]


def places(file: str, requires: Mapping[str, list[str]]) -> dict[str, set[Place]]:
    """Where the packages of a file are needed, those of its base included."""
    base, _ = FILES[file]
    needed = places(base, requires) if base else {}
    for place in EVERYWHERE:
        for _, one in walk(roots(file), requires, place):
            needed.setdefault(canonicalize_name(one.name), set()).add(place)
    return needed


def marker(where: Iterable[Place]) -> str:
    """The marker that is true at these places alone, of those that pins are made for."""
    where = set(where)
    if where == EVERYWHERE:
        return ""
    systems: dict[tuple[str, ...], list[str]] = {}
    for system in SYSTEMS:
        pythons = tuple(python for python in PYTHONS if (python, system) in where)
        systems.setdefault(pythons, []).append(system)
    parts = []
    for pythons, names in systems.items():
        if not pythons:
            continue
        first, last = PYTHONS.index(pythons[0]), PYTHONS.index(pythons[-1])
        if pythons != PYTHONS[first : last + 1]:
            raise ValueError(f"no marker is made for Python {', '.join(pythons)} alone")
        terms = [f'python_version >= "{pythons[0]}"'] if first else []
        terms += [f'python_version < "{PYTHONS[last + 1]}"'] if last + 1 < len(PYTHONS) else []
        if len(names) < len(SYSTEMS):
            either = " or ".join(f'sys_platform == "{name}"' for name in names)
            terms.append(f"({either})" if terms and len(names) > 1 else either)
        parts.append(" and ".join(terms))
    return " or ".join(parts)


class Links(HTMLParser):
    """The files of a registry's page for one package, with the hash that the address of each ends in."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            address = urllib.parse.urlsplit(dict(attrs).get("href") or "")
            name = urllib.parse.unquote(address.path.rsplit("/", 1)[-1])
            self.files.append((name, address.fragment.removeprefix("sha256=")))


def hashes(page: str, version: str) -> list[str]:
    """The hashes of every wheel and every source archive of one version."""
    links = Links()
    links.feed(page)
    found = [(name, digest) for name, digest in links.files if version_of(name) == Version(version)]
    bare = [name for name, digest in found if not re.fullmatch("[0-9a-f]{64}", digest)]
    if bare or not found:
        raise SystemExit(f"the registry gives no hash for {bare or version}")
    return sorted({digest for _, digest in found})


def version_of(file: str) -> Version | None:
    try:
        return parse_wheel_filename(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None  # an old kind of file: pip does not install it


def registry() -> str:
    """The address that pip asks: as it is set, or pip's own."""
    settings = pip("config", "list").splitlines()
    told = [
        line.split("=", 1)[1].strip("'\"") for line in settings if line.split("=")[0].endswith(".index-url")
    ]
    code = "from pip._internal.cli.cmdoptions import index_url; print(index_url().default)"
    own = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()
    return (told or [own])[-1].rstrip("/")


def pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def resolved(asked: Iterable[str], versions: dict[str, str]) -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and needs of what pip would install here, at these versions where they are given."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "given.txt")
        given.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
        report = Path(folder, "report.json")
        pip(
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--report",
            str(report),
            "-c",
            str(given),
            *asked,
        )
        for item in json.loads(report.read_text())["install"]:
            facts = item["metadata"]
            yield facts["name"], facts["version"], facts.get("requires_dist", [])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--upgrade", action="store_true", help="take the newest versions that go together")
    upgrade = options.parse_args().upgrade
    FOLDER.mkdir(exist_ok=True)
    there = [file for file in FILES if (FOLDER / f"{file}.txt").exists()]
    versions = {} if upgrade else {pin.name: pin.version for file in there for pin in read(file)}

    names: dict[str, str] = {}
    requires: dict[str, list[str]] = {}
    unknown = [one for file in FILES for one in roots(file)]
    while unknown:  # first what this machine needs, then what only others do
        for name, version, texts in resolved({text(one) for one in unknown}, versions):
            names.setdefault(canonicalize_name(name), name)
            requires.setdefault(canonicalize_name(name), texts)
            versions[name] = version
        all_needs = (walk(roots(file), requires, place) for file in FILES for place in EVERYWHERE)
        unknown = [
            one for edges in all_needs for _, one in edges if canonicalize_name(one.name) not in requires
        ]

    found = {canonicalize_name(name): version for name, version in versions.items()}
    address = registry()

    def hashes_of(name: str) -> list[str]:
        with urllib.request.urlopen(f"{address}/{name}/", timeout=60) as answer:
            return hashes(answer.read().decode(), found[name])

    with ThreadPoolExecutor(8) as pool:
        digests = dict(zip(names, pool.map(hashes_of, names)))
    for file, (base, groups) in FILES.items():
        below = places(base, requires) if base else {}
        lines = [HEAD.format(what=file if file in ("build", "core") else f"{base} and {', '.join(groups)}")]
        lines += [f"-r {base}.txt\n"] if base else []
        for name, where in sorted(places(file, requires).items()):
            if rest := where - below.get(name, set()):
                only = f" ; {told}" if (told := marker(rest)) else ""
                pins = "".join(f" \\\n    --hash=sha256:{digest}" for digest in digests[name])
                lines.append(f"{names[name]}=={found[name]}{only}{pins}\n")
        (FOLDER / f"{file}.txt").write_text("".join(lines))


def text(one: Requirement) -> str:
    """A requirement without its marker: it is looked up here, and needed elsewhere."""
    extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
    return f"{one.name}{extras}{one.specifier}"


if __name__ == "__main__":
    main()
