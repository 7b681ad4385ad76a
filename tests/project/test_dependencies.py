"""The page of dependencies and the bills of materials say what is pinned, and what the packages say."""

import json
import re

import pytest
from docs import make_dependencies as made
from packaging.utils import canonicalize_name
from tools import licences, pins, sbom

PAGE = made.listed()


def test_every_pinned_package_is_listed_once_with_its_version():
    listed = sorted((canonicalize_name(row[0]), row[1]) for row in PAGE)
    assert listed == sorted((name, pin.version) for name, pin in pins.pinned().items())


def test_every_package_that_the_project_names_is_pinned_and_has_its_reason():
    reasons = {canonicalize_name(name) for name in made.REASONS}
    for asked in made.groups().values():
        for one in asked:
            assert canonicalize_name(one.name) in reasons
            assert one.specifier.contains(pins.pinned()[canonicalize_name(one.name)].version)


def test_the_page_is_what_the_command_writes():
    assert made.page() == made.PAGE.read_text(), "run `make sbom`"


def test_every_licence_is_permissive_or_has_its_reason():
    for name, _, licence, group, _ in PAGE:
        if canonicalize_name(name) in licences.EXCEPTIONS:
            assert group != "core"
            assert f"{name} ({group})" in made.PAGE.read_text()
            assert not licences.permissive(licence), f"{name} needs no exception any more"
        else:
            assert licences.permissive(licence), f"{name} is under {licence}"


@pytest.mark.parametrize(
    "text",
    [
        "MIT",
        "MIT License",
        "BSD License; Apache Software License",
        "MIT OR GPL-3.0-only",
        "GPL-2.0-only OR (MIT AND BSD-3-Clause)",
        "BSD-2-Clause AND Apache-2.0 WITH LLVM-exception",
    ],
)
def test_a_permissive_licence_is_known(text):
    assert licences.permissive(text)


@pytest.mark.parametrize(
    "text",
    [
        "GPL-3.0-only",
        "LGPL-2.1-or-later",
        "AGPL-3.0-or-later",
        "SSPL-1.0",
        "GNU General Public License (GPL)",
        "BSD License; GNU General Public License (GPL)",
        "MIT AND GPL-2.0-only",
        "(MIT OR Apache-2.0) AND LGPL-3.0-only",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "MPL-2.0 AND (Apache-2.0 OR MIT)",
        "MIT GPL-3.0-only",
        "(MIT",
        "MIT)",
        "MIT AND",
        "Free for everybody",
        "unknown",
        "",
    ],
)
def test_any_other_licence_is_not_taken_for_permissive(text):
    assert not licences.permissive(text)


@pytest.mark.parametrize("file", sbom.FILES)
def test_a_bill_of_materials_has_every_package_and_what_it_needs(file):
    bill = json.loads(json.dumps(sbom.bill(file, "1700000000")))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    shoal = bill["metadata"]["component"]
    assert (shoal["type"], shoal["name"], shoal["purl"].split("@")[0]) == (
        "application",
        "shoal-sdc",
        "pkg:pypi/shoal-sdc",
    )

    refs = {part["bom-ref"]: part for part in bill["components"]}
    here = {
        f"pkg:pypi/{canonicalize_name(pin.name)}@{pin.version}"
        for pin in pins.with_base(file)
        if not pin.marker or pins.holds(pin.marker, sbom.here())
    }
    assert set(refs) == here
    for part in bill["components"]:
        assert part["type"] == "library"
        assert part["purl"] == part["bom-ref"]
        assert part["licenses"]
        for term in part["licenses"]:
            assert "expression" in term or term["license"].keys() <= {"id", "name"}

    graph = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    assert graph.keys() == refs.keys() | {shoal["bom-ref"]}
    reached, waiting = set(), [shoal["bom-ref"]]
    while waiting:
        ref = waiting.pop()
        waiting += [need for need in graph[ref] if need not in reached]
        reached |= set(graph[ref])
    assert reached == refs.keys()


def test_the_bill_of_the_core_names_nothing_beyond_the_core():
    names = {part["name"] for part in sbom.bill("core", "0")["components"]}
    assert "numba" in names
    assert not names & {"nicegui", "pyspark", "pandas", "pytest", "hatchling"}


def test_a_bill_names_no_machine_and_no_address():
    text = json.dumps(sbom.bill("dev", "0"))
    assert "://" not in text
    assert str(pins.ROOT) not in text
    assert text == json.dumps(sbom.bill("dev", "0"))
