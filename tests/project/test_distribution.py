"""Wheel and source archive hold what they should, and the same commit gives the same bytes everywhere.

`make try-dist` (in `.ci/run`) installs the wheel into an empty environment and runs the demo there.
"""

import os
import shutil
import tarfile
import zipfile

import pytest
from tools import dist

EPOCH = "1700000000"  # 2023-11-14 22:13:20


def copy(to, late):
    """A copy of the tree as it is installed here, with other times, modes and neighbours if late."""
    names = [
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "constraints",
        "pyproject.toml",
        "src",
        "tools",
    ]
    for name in names:
        source = dist.ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            to.mkdir(exist_ok=True)
            shutil.copy(source, to / name)
    if late:
        for path in sorted(to.rglob("*"), reverse=True):
            path.chmod(0o700 if path.is_dir() else 0o600)
            os.utime(path, (2_000_000_000, 2_000_000_000))
        (to / "secret.csv").write_text("name,income\n")
        (to / "src" / "shoal" / "__pycache__").mkdir()
        (to / "src" / "shoal" / "__pycache__" / "old.pyc").write_bytes(b"")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The distributions of one tree, built twice: then at another place and hour, under other settings."""
    place = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as other:
        copy(place / "one", late=False)
        first = dist.build(place / "one", place / "first", EPOCH, "sdist", "wheel")
        copy(place / "another place", late=True)
        other.setenv("TZ", "Pacific/Kiritimati")
        other.setenv("LC_ALL", "C")
        other.setenv("PYTHONHASHSEED", "7")
        mask = os.umask(0o077)
        try:
            second = dist.build(place / "another place", place / "second", EPOCH, "sdist", "wheel")
        finally:
            os.umask(mask)
    return first, second


def test_the_same_tree_gives_the_same_bytes(made):
    first, second = made
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.suffix for path in first] == [".whl", ".gz"]
    for one, other in zip(*made):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_the_archive_builds_the_same_wheel(made, tmp_path):
    wheel, archive = made[0]
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    (folder,) = (tmp_path / "unpacked").iterdir()
    (again,) = dist.build(folder, tmp_path / "again", EPOCH, "wheel")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(made):
    with zipfile.ZipFile(made[0][0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        times = {info.date_time for info in wheel.infolist()}
        (facts,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("/METADATA")]
        assert [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
    source = dist.ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert names == {name for name in files if "__pycache__" not in name}
    assert {"shoal/py.typed", "shoal/report/templates/report.html", "shoal/app/static/page.js"} <= names
    assert times == {(2023, 11, 14, 22, 13, 20)}
    assert "\nName: shoal-sdc\n" in facts


def test_what_lies_beside_the_sources_stays_there(made):
    with tarfile.open(made[1][1]) as archive:
        names = archive.getnames()
        assert {(member.uid, member.gid, member.uname, member.mtime) for member in archive} == {
            (0, 0, "", int(EPOCH))
        }
    assert any(name.endswith("/constraints/core.txt") for name in names)
    assert not [name for name in names if "secret" in name or ".pyc" in name or "/.git/" in name]


def test_only_what_is_committed_is_exported(tmp_path):
    if not (dist.ROOT / ".git").exists():
        pytest.skip("not a clone")
    dist.export(tmp_path / "head")
    assert (tmp_path / "head" / "pyproject.toml").is_file()
    assert not (tmp_path / "head" / ".venv").exists()
    assert dist.time_of_commit().isdigit()
