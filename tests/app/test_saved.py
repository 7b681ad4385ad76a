"""Sessions that outlive the server, and files that pretend to be one."""

import json
import os
import stat

import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app import saved
from shoal.errors import InputError

PLAN = shoal.Plan(3, columns=["wages"]).toml()
TABLE = saved.Saved("firms.csv", "", "0" * 64, PLAN, (PLAN, PLAN), True)
NAME = "20260101-000000-00000000.json"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def write(text, name=NAME):
    saved.folder().mkdir(parents=True, exist_ok=True)
    path = saved.folder() / name
    path.write_text(text)
    path.chmod(0o600)
    return path


def session(**changes):
    table = {"name": "a", "part": "", "sha256": "0" * 64, "settings": None, "runs": [], "prove": True}
    return json.dumps({"shoal session": 1, "tables": [{**table, **changes}]})


def test_what_is_saved_is_loaded_and_private():
    name = saved.new_name()
    path = saved.save([TABLE], name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert saved.names() == [name]
    assert saved.load(name) == [TABLE]
    saved.save([], name)  # the newest is kept
    assert saved.load(name) == []
    saved.delete(name)
    assert saved.names() == []


def test_it_holds_nothing_but_settings_and_plans():
    """A new field is a decision: no record of a table may come into the file."""
    text = saved.save([TABLE], NAME).read_text()
    assert set(json.loads(text)) == {"shoal session", "tables"}
    assert set(json.loads(text)["tables"][0]) == {"name", "part", "sha256", "settings", "runs", "prove"}


def test_a_folder_elsewhere_must_be_a_whole_path(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    assert saved.folder().is_absolute()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"shoal session": 2, "tables": []}',
        '{"shoal session": 1, "tables": 5}',
        '{"shoal session": 1, "tables": ["a"]}',
        session(name=5),
        session(name="x" * 501),
        session(sha256="../../etc/passwd"),
        session(sha256=None),
        session(prove="yes"),
        session(runs=[7]),
        session(runs=["k = "]),
        session(settings="import os"),
        session(evil="__reduce__"),
        session(runs=["[release]\nk = 3\nfile = '/etc/passwd'\n"]),
    ],
)
def test_hostile_files_are_refused(text):
    write(text)
    with pytest.raises(InputError, match="damaged, or not of this version of shoal: delete it"):
        saved.load(NAME)


def test_bytes_that_are_no_text_are_refused():
    write("").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="damaged"):
        saved.load(NAME)


def test_a_file_that_others_can_read_is_refused():
    write(session()).chmod(0o640)
    with pytest.raises(InputError, match="not private to you"):
        saved.load(NAME)


def test_links_pipes_folders_and_large_files_are_refused(tmp_path):
    real = write(session(), "20260101-000000-11111111.json")
    path = saved.folder() / NAME
    path.symlink_to(real)
    with pytest.raises(InputError, match="cannot be read"):
        saved.load(NAME)
    path.unlink()
    os.mkfifo(path, 0o600)  # which nobody writes to
    with pytest.raises(InputError, match="is no file"):
        saved.load(NAME)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r"cannot be read|is no file"):
        saved.load(NAME)
    path.rmdir()
    with write("x").open("r+") as file:
        file.truncate(saved.LARGEST + 1)
    with pytest.raises(InputError, match="larger than the page ever writes"):
        saved.load(NAME)


@pytest.mark.parametrize("name", ["../../x.json", "a.json", "", f"{NAME}/../{NAME}", NAME + "\n"])
def test_only_names_of_our_own_are_opened_or_deleted(name, tmp_path):
    kept = write(session())
    with pytest.raises(InputError, match="no saved session"):
        saved.load(name)
    saved.delete(name)
    assert kept.exists()
    write(session(), "other.json")
    assert saved.names() == [NAME]
