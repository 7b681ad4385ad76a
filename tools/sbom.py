"""Bills of materials in the format CycloneDX 1.6: `python -m tools.sbom`, in an environment with `dev`.

One for each file of constraints: dist/shoal-sdc-VERSION.core.cdx.json, and so on for build, app and dev. Says
of each package that is needed here its version, its licence in its own words, and what it needs. Carries the
time of the last commit (or `SOURCE_DATE_EPOCH`) and no name of a machine: the same packages give the same
bytes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tomllib
import uuid
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import dist, licences, pins

FILES = ("build", "core", "app", "dev")


def bill(file: str, epoch: str) -> dict[str, object]:
    """The bill of what a file of constraints installs here, and of shoal itself."""
    project = tomllib.loads((pins.ROOT / "pyproject.toml").read_text())["project"]
    shoal = component(project["name"], project["version"], project["license"], "application")
    known = pins.pinned()
    edges: dict[str, set[str]] = {}
    for parent, one in pins.walk(asked(file), pins.installed_needs(), here()):
        edges.setdefault(parent, set()).add(canonicalize_name(one.name))
        edges.setdefault(canonicalize_name(one.name), set())
    refs = {name: purl(pin.name, pin.version) for name, pin in known.items()} | {"": shoal["bom-ref"]}
    packages = [known[name] for name in sorted(edges) if name]
    made: dict[str, object] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).isoformat(),
            "component": shoal,
        },
        "components": [component(pin.name, pin.version, licences.licence(pin.name)) for pin in packages],
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted(refs[need] for need in needs)}
            for name, needs in sorted(edges.items())
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(made, sort_keys=True))
    return made | {"serialNumber": number.urn}


def asked(file: str) -> Iterable[Requirement]:
    """What a file of constraints and those below it are there for."""
    base = pins.FILES[file][0]
    return [*(asked(base) if base else []), *pins.roots(file)]


def here() -> pins.Place:
    return f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform


def purl(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def component(name: str, version: str, licence: str, kind: str = "library") -> dict[str, object]:
    ref = purl(name, version)
    return {
        "type": kind,
        "bom-ref": ref,
        "name": name,
        "version": version,
        "purl": ref,
        "licenses": terms(licence),
    }


def terms(licence: str) -> list[dict[str, object]]:
    """A licence as CycloneDX has it: a name of SPDX, an expression, or a text."""
    if licence in licences.PERMISSIVE or licence == "MPL-2.0":
        return [{"license": {"id": licence}}]
    if " AND " in licence or " OR " in licence or " WITH " in licence:
        return [{"expression": licence}]
    return [{"license": {"name": part}} for part in licence.split("; ")]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--folder", type=Path, default=pins.ROOT / "dist")
    folder = options.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or dist.time_of_commit()
    for file in FILES:
        made = bill(file, epoch)
        version = made["metadata"]["component"]["version"]
        path = folder / f"shoal-sdc-{version}.{file}.cdx.json"
        path.write_text(json.dumps(made, indent=2) + "\n")
        print(path)


if __name__ == "__main__":
    main()
