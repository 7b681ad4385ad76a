"""Whatever `make` installs has its hash in constraints/, on every Python and system."""

import hashlib
import re
import subprocess
import sys
import zipfile

import pytest
from packaging.utils import canonicalize_name
from tools import pins

FILES = sorted(pins.FILES)


@pytest.mark.parametrize("file", FILES)
def test_a_file_holds_versions_and_hashes_and_nothing_else(file):
    base = pins.FILES[file][0]
    text = (pins.FOLDER / f"{file}.txt").read_text()
    rest = pins.LINE.sub("", text)
    lines = [line for line in rest.splitlines() if not line.startswith("# ")]
    assert lines == ([f"-r {base}.txt"] if base else [])
    assert "://" not in text
    for pin in pins.read(file):
        assert len(set(pin.hashes)) == len(pin.hashes) >= 1


def test_only_these_files_are_there():
    assert sorted(path.stem for path in pins.FOLDER.iterdir()) == FILES


@pytest.mark.parametrize("file", FILES)
def test_what_a_file_needs_is_pinned_once_at_a_version_that_serves(file):
    """Each package's own word, read here, for Pythons and systems that are not here."""
    needs = pins.installed_needs()
    for place in sorted(pins.EVERYWHERE):
        here = [pin for pin in pins.with_base(file) if not pin.marker or pins.holds(pin.marker, place)]
        versions = {canonicalize_name(pin.name): pin.version for pin in here}
        assert len(versions) == len(here), "pip refuses a package that is asked for twice"
        for parent, one in pins.walk(pins.roots(file), needs, place):
            told = f"{parent} needs {one} on {place}: run `python -m tools.pins`"
            assert canonicalize_name(one.name) in versions, told
            assert one.specifier.contains(versions[canonicalize_name(one.name)], prereleases=True), told


def test_a_package_has_one_version_in_all_files():
    pairs = {(canonicalize_name(pin.name), pin.version) for file in FILES for pin in pins.read(file)}
    assert len(pairs) == len(pins.pinned())


def test_hatchling_is_asked_for_at_the_version_that_is_pinned():
    assert pins.wanted()["build"] == [f"hatchling=={pins.pinned()['hatchling'].version}"]


def installs(target):
    """What `make` would call to install, were nothing there."""
    command = ["make", "--dry-run", "--always-make", "VENV=elsewhere", target]
    printed = subprocess.run(command, check=True, cwd=pins.ROOT, capture_output=True, text=True).stdout
    return [line for line in printed.splitlines() if "pip install" in line]


@pytest.mark.parametrize("target", ["demo", "app", "test", "bench", "dist", "sbom"])
def test_make_installs_nothing_without_a_hash(target):
    """Only shoal itself comes without; it brings no other package, and its build fetches none."""
    called = installs(target)
    assert called
    for line in called:
        assert "--no-build-isolation" in line
        assert re.search(r" --no-deps (--require-hashes -r constraints/\w+\.txt|-e \.)$", line), line
    files = [name for line in called for name in re.findall(r"constraints/(\w+)\.txt", line)]
    assert files[0] == "build"
    if target == "demo":
        assert files == ["build", "core"]


@pytest.mark.parametrize("wanted", ["", "python", "system", "both", "mixed"])
def test_a_marker_is_true_where_it_should_be_and_nowhere_else(wanted):
    where = {
        "": pins.EVERYWHERE,
        "python": {place for place in pins.EVERYWHERE if place[0] in ("3.12", "3.13")},
        "system": {place for place in pins.EVERYWHERE if place[1] != "win32"},
        "both": {("3.11", "linux"), ("3.11", "darwin")},
        "mixed": {
            ("3.11", "linux"),
            ("3.12", "linux"),
            ("3.14", "darwin"),
            *[(p, "win32") for p in pins.PYTHONS],
        },
    }[wanted]
    text = pins.marker(where)
    assert (text == "") == (wanted == "")
    if text:
        assert {place for place in pins.EVERYWHERE if pins.holds(text, place)} == where


def test_a_marker_with_a_hole_is_refused():
    with pytest.raises(ValueError, match=r"Python 3\.11, 3\.13 alone"):
        pins.marker({("3.11", "linux"), ("3.13", "linux")})


def page(*files):
    return "".join(
        f'<a href="../../f/{name}#sha256={digest}" data-x="&gt;=3">{name}</a>' for name, digest in files
    )


def test_hashes_are_those_of_every_file_of_the_version():
    a, b, c, d = (letter * 64 for letter in "abcd")
    text = page(
        ("pack_age-1.0-py3-none-any.whl", b),
        ("pack_age-1.0.tar.gz", a),
        ("pack_age-1.0.post1.tar.gz", c),
        ("pack_age-1.0.win32.exe", d),
        ("pack_age-10.0-py3-none-any.whl", d),
    )
    assert pins.hashes(text, "1.0") == [a, b]


@pytest.mark.parametrize("digest", ["", "00", "md5=" + "a" * 32])
def test_a_file_without_a_hash_is_refused(digest):
    with pytest.raises(SystemExit, match=r"no hash for \['p-1\.0\.tar\.gz'\]"):
        pins.hashes(page(("p-1.0.tar.gz", digest)), "1.0")
    with pytest.raises(SystemExit, match=r"no hash for 2\.0"):
        pins.hashes(page(("p-1.0.tar.gz", "a" * 64)), "2.0")


def wheel(folder, text):
    """A package of one module that holds this text; the hash of its wheel."""
    path = folder / "victim-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as files:
        files.writestr("victim.py", text)
        files.writestr("victim-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: victim\nVersion: 1.0\n")
        files.writestr(
            "victim-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        files.writestr("victim-1.0.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("attack", ["", "other bytes", "no hash"])
def test_what_make_calls_refuses_a_package_that_was_tampered_with(attack, tmp_path):
    digest = wheel(tmp_path, "safe = True\n")
    line = f"victim==1.0 --hash=sha256:{digest}\n"
    if attack == "other bytes":
        wheel(tmp_path, "safe = False\n")
    elif attack == "no hash":
        line = "victim==1.0\n"
    (tmp_path / "pins.txt").write_text(line)
    called = next(line for line in installs("demo") if line.endswith("constraints/build.txt"))
    options = called.split(" pip install ")[1].split()[:-1]
    there = ["--isolated", "--no-index", "--find-links", tmp_path, "--target", tmp_path / "to"]
    command = [sys.executable, "-m", "pip", "install", *there, *options, tmp_path / "pins.txt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) == (tmp_path / "to" / "victim.py").exists() == (attack == ""), done.stderr
