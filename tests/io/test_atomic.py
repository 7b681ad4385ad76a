"""Whatever fails: afterwards the old file or the complete new one, and nothing else beside it."""

import errno
import os
import resource
import stat
import subprocess
import sys
import threading

import pyarrow as pa
import pytest
from benchmarks.stress import stress

import shoal
from shoal.datasets import survey
from shoal.errors import InputError, MachineError
from shoal.io import atomic as parts
from shoal.io import files, parquet
from shoal.io.private import private_folder

OLD = b"the old file"
WORDS = ("-k", "3", "-c", "turnover", "-c", "wages", "-m", "multi_dsort")


def protect(source, target, **options):
    words = [sys.executable, "-m", "shoal", "protect", str(source), *WORDS, "-o", str(target)]
    return subprocess.run(words, capture_output=True, text=True, **options)


@pytest.fixture
def folder(tmp_path):
    shoal.write(survey(3000), tmp_path / "in.csv")
    (tmp_path / "out.csv").write_bytes(OLD)
    return tmp_path


def unharmed(folder, run, status=3):
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("shoal: ")
    assert run.stderr.count("\n") == 1
    assert (folder / "out.csv").read_bytes() == OLD
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "out.csv"]


@pytest.mark.parametrize("what", ["a CSV file, replaced", "disk engine, a folder, replaced"])
def test_killed_at_random_moments(what):
    found = stress(what, 6, seed=5)
    assert found["old"] + found["new"] == found["kills"] == 6
    assert found["broken"] == found["left after the last run"] == 0


def test_a_file_that_may_not_grow(folder):
    before = protect(folder / "in.csv", folder / "before.csv")
    assert before.returncode == 0, before.stderr  # now all is compiled and kept: only the output grows
    (folder / "before.csv").unlink()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    run = protect(folder / "in.csv", folder / "out.csv", preexec_fn=limit)
    unharmed(folder, run)
    assert "cannot be written: File too large" in run.stderr


@pytest.fixture
def disk(tmp_path_factory):
    """A disk of 64 kB with an old file on it; root may mount one."""
    place = tmp_path_factory.mktemp("disk")
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        (place / "out.csv").write_bytes(OLD)
        yield place
        assert (place / "out.csv").read_bytes() == OLD
        assert [path.name for path in place.iterdir()] == ["out.csv"]
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full(folder, disk):
    run = protect(folder / "in.csv", disk / "out.csv")
    assert run.returncode == 3
    assert "cannot be written: No space left on device" in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_folder_that_may_not_be_written(folder, disk):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)  # root may write to any other
    run = protect(folder / "in.csv", disk / "out.csv")
    assert run.returncode == 3
    assert "cannot be written: Read-only file system" in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; a read-only disk stands in")
def test_a_folder_without_permission(folder):
    folder.chmod(0o555)
    run = protect(folder / "in.csv", folder / "out.csv")
    folder.chmod(0o755)
    unharmed(folder, run)


def test_input_that_changes_while_it_is_read(folder, monkeypatch):
    csv = files.FORMATS[".csv"]

    def disturbed(path):
        table = csv.read(path)
        with path.open("a") as file:
            file.write("more\n")
        return table

    monkeypatch.setitem(files.FORMATS, ".csv", csv._replace(read=disturbed))
    with pytest.raises(InputError, match="has changed while it was read"):
        shoal.microaggregate(folder / "in.csv", 3, columns=["wages"])


@pytest.mark.parametrize("change", ["append", "replace", "delete"])
def test_input_that_changes_before_the_release_is_written_does_not_matter(folder, change):
    source = folder / "in.csv"
    release = shoal.microaggregate(source, 3, columns=["wages", "turnover"], method="multi_dsort")
    release.write(folder / "out.csv")
    undisturbed = (folder / "out.csv").read_bytes()
    if change == "append":
        with source.open("a") as file:
            file.write("more\n")
    else:
        content = source.read_bytes()
        stamp = source.stat()
        source.unlink()
        if change == "replace":
            (folder / "other").write_bytes(content)
            (folder / "other").replace(source)
            os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    release.write(folder / "out.csv")
    assert (folder / "out.csv").read_bytes() == undisturbed


LIMITED = """
import os, resource, sys
import scipy.linalg, shoal.algorithms, shoal.pipeline, shoal.cli.commands
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
limit = used + (int(sys.argv.pop(1)) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
shoal.cli.main()
"""


@pytest.mark.parametrize("megabytes", [8, 40, 4000])
def test_a_limit_of_memory(folder, megabytes):
    """Beyond what the libraries took when they were loaded: a sentence, or the whole release.

    Some libraries (BLAS, LLVM) end the process, or wait for ever, when memory is refused: that harms nothing.
    """
    words = [sys.executable, "-c", LIMITED, str(megabytes), "protect", str(folder / "in.csv")]
    try:
        run = subprocess.run(
            [*words, *WORDS, "-o", str(folder / "out.csv")], capture_output=True, text=True, timeout=100
        )
    except subprocess.TimeoutExpired:
        assert (folder / "out.csv").read_bytes() == OLD
        return
    if run.returncode:
        assert megabytes < 4000
        assert (folder / "out.csv").read_bytes() == OLD
    else:
        assert shoal.read(folder / "out.csv").num_rows == 3000
    if run.returncode > 0:
        assert run.returncode == 3, run.stderr
        assert "Traceback" not in run.stderr
        assert not list(folder.glob(".*.part"))


def test_a_reader_without_memory_for_its_threads_is_no_bad_file(folder, monkeypatch):
    def starved(path):
        raise pa.ArrowException("Failed to launch worker thread: Resource temporarily unavailable")

    csv = files.FORMATS[".csv"]
    monkeypatch.setitem(files.FORMATS, ".csv", csv._replace(read=starved))
    with pytest.raises(MemoryError):
        shoal.read(folder / "in.csv")


def test_out_of_memory_inside_the_writer_leaves_nothing(folder, monkeypatch):
    csv = files.FORMATS[".csv"]

    def greedy(table, path):
        path.write_bytes(b"half")
        raise MemoryError

    monkeypatch.setitem(files.FORMATS, ".csv", csv._replace(write=greedy))
    with pytest.raises(MemoryError):
        shoal.write(survey(5), folder / "out.csv")
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "out.csv"]


def test_two_runs_that_write_the_same_output(folder):
    """Both at once, many times: the outcome is always one whole file of one of them, and both end well."""
    tables = [pa.table({"x": [float(j)] * 5000}) for j in range(2)]
    errors = []

    def write(table):
        try:
            for _ in range(25):
                shoal.write(table, folder / "out.csv")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    seen = 0
    while any(thread.is_alive() for thread in threads) or not (seen or errors):
        found = (folder / "out.csv").read_bytes()
        if found != OLD:
            seen += 1
            assert found in (b"x\n" + b"0.0\n" * 5000, b"x\n" + b"1.0\n" * 5000)
    assert not errors
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "out.csv"]


def test_two_commands_that_write_the_same_output(folder):
    words = [
        sys.executable,
        "-m",
        "shoal",
        "protect",
        str(folder / "in.csv"),
        *WORDS,
        "-o",
        str(folder / "out.csv"),
    ]
    runs = [subprocess.Popen(words, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert shoal.read(folder / "out.csv").num_rows == 3000
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "out.csv"]


@pytest.mark.parametrize("mode", [0o600, 0o644])  # while it is written, and when it has been finished
def test_parts_of_the_dead_are_swept_and_those_of_the_living_are_not(folder, mode):
    stale = folder / ".out.csv.0123abcd.part"
    other = folder / ".else.csv.0123abcd.part"
    for path in (stale, other):
        path.write_bytes(b"half")
        path.chmod(mode)
    with parts.replacing(folder / "out.csv") as mine:
        assert not stale.exists()
        assert other.exists()
        with parts.replacing(folder / "out.csv") as second:
            assert mine.exists()
            assert second != mine
            second.write_bytes(b"second")
        mine.write_bytes(b"first")
    assert (folder / "out.csv").read_bytes() == b"first"
    assert not list(folder.glob(".out*"))


@pytest.mark.parametrize("private", [True, False])
def test_nobody_else_can_ever_open_a_part(folder, monkeypatch, private):
    """Not in the moment in which it is made either: who opens it then could read what is written later."""
    real, opened = os.open, {}

    def seen(path, *rest, **options):
        handle = real(path, *rest, **options)
        facts = os.fstat(handle)
        opened[facts.st_ino] = stat.S_IMODE(facts.st_mode)
        return handle

    monkeypatch.setattr(os, "open", seen)
    before = os.umask(0o022)
    try:
        with parts.replacing(folder / "new.csv", private) as part:
            assert opened[part.stat().st_ino] == stat.S_IMODE(part.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "new.csv").stat().st_mode) == (0o600 if private else 0o644)
    assert [path.name for path in folder.glob("*.part")] == []


def release_folder(path, content):
    path.mkdir(mode=0o700)
    (path / "part").write_text(content)
    return path


def test_folders_of_the_dead_are_swept_and_those_of_the_living_are_not(folder):
    """What the disk engine leaves if it is killed holds the original's values."""
    stale = release_folder(folder / ".out.0123abcd.part", "original values")
    with parquet.workplace(folder / "out") as mine:
        assert not stale.exists()
        with parquet.workplace(folder / "out") as second:
            assert mine.exists()
            assert second != mine
    assert not list(folder.glob(".out*"))


def test_an_old_folder_whose_replacer_was_killed_gets_its_name_back(folder):
    stale = folder / ".out.0123abcd.part"
    stale.mkdir(mode=0o700)
    release_folder(stale / parts.OLD, "old")
    parts.sweep(folder / "out")
    assert (folder / "out" / "part").read_text() == "old"
    stale.mkdir(mode=0o700)
    release_folder(stale / parts.OLD, "older")  # the new one has its name already
    parts.sweep(folder / "out")
    assert (folder / "out" / "part").read_text() == "old"
    assert not stale.exists()


@pytest.mark.parametrize("swaps", [True, False])
def test_a_folder_takes_the_place_of_another(folder, monkeypatch, swaps):
    if not swaps:  # as on a system that cannot
        monkeypatch.setattr(parts, "_swap", lambda one, other: False)
    target = release_folder(folder / "out", "old")
    work = folder / ".out.0123abcd.part"
    work.mkdir()
    parquet.publish(release_folder(work / "release", "new"), target)
    assert (target / "part").read_text() == "new"
    assert [(path / "part").read_text() for path in work.iterdir()] == ["old"]


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(folder, monkeypatch):
    monkeypatch.setattr(parts, "_swap", lambda one, other: False)
    target = release_folder(folder / "out", "old")
    work = folder / ".out.0123abcd.part"
    work.mkdir()
    with pytest.raises(FileNotFoundError):
        parts.exchange(work / "nothing", target)
    assert (target / "part").read_text() == "old"


def test_a_folder_that_is_swept_before_it_was_opened_is_made_anew(folder, monkeypatch):
    made = iter(["0000aaaa", "0000bbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda n: next(made))
    real = os.open

    def slow(path, *rest, **options):
        if str(path).endswith("0000aaaa.part"):
            os.rmdir(path)
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "open", slow)
    with parquet.workplace(folder / "out") as work:
        assert work.resolve().name == ".out.0000bbbb.part"


def test_a_file_system_without_locks_can_be_written_to(folder, monkeypatch):
    def unknown(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(parts.fcntl, "flock", unknown)
    with parts.replacing(folder / "out.csv") as part:
        part.write_bytes(b"new")
    assert (folder / "out.csv").read_bytes() == b"new"


def test_a_part_that_a_sweeper_has_just_locked_is_left_to_it(folder, monkeypatch):
    """The sweeper deletes it a moment later; whoever wrote on would find no file to rename."""
    made = iter(["0000aaaa", "0000bbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda n: next(made))
    lock, sweeper = parts.fcntl.flock, []

    def quicker(handle, how):
        if not sweeper:
            sweeper.append(os.open(folder / ".out.csv.0000aaaa.part", os.O_RDONLY))
            lock(sweeper[0], how)
        lock(handle, how)

    monkeypatch.setattr(parts.fcntl, "flock", quicker)
    with parts.replacing(folder / "out.csv") as part:
        assert part.resolve().name == ".out.csv.0000bbbb.part"
        part.write_bytes(b"new")
        os.unlink(folder / ".out.csv.0000aaaa.part")
    os.close(sweeper[0])
    assert (folder / "out.csv").read_bytes() == b"new"


@pytest.mark.parametrize(
    "make",
    [
        lambda beside: private_folder("made", beside).__enter__(),
        lambda beside: parts.new_part(beside / "made"),
    ],
)
def test_ctrl_c_in_the_moment_in_which_a_part_is_made_leaves_nothing(make, tmp_path, monkeypatch):
    def interrupted(handle):
        assert len(list(tmp_path.iterdir())) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "_locked", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_part_that_is_swept_before_it_was_locked_is_made_anew(folder, monkeypatch):
    made = iter(["0000aaaa", "0000bbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda n: next(made))
    lock, calls = parts.fcntl.flock, []

    def slow(handle, how):
        calls.append(handle)
        if len(calls) == 1:
            os.unlink(folder / ".out.csv.0000aaaa.part")
        lock(handle, how)

    monkeypatch.setattr(parts.fcntl, "flock", slow)
    with parts.replacing(folder / "out.csv") as part:
        assert part.resolve().name == ".out.csv.0000bbbb.part"
        part.write_bytes(b"new")
    assert (folder / "out.csv").read_bytes() == b"new"


def test_a_folder_that_vanishes(tmp_path):
    with (
        pytest.raises(MachineError, match="cannot be written"),
        parts.replacing(tmp_path / "out.csv") as part,
    ):
        part.resolve().unlink()
    with pytest.raises(InputError, match="does not exist"), parts.replacing(tmp_path / "no" / "out.csv"):
        raise AssertionError
    with pytest.raises(InputError, match="is a folder"), parts.replacing(tmp_path):
        raise AssertionError


def test_folders_that_cannot_be_synced_are_no_fault(tmp_path, monkeypatch):
    real = os.open

    def refuse(path, *rest, **options):
        if str(path) == str(tmp_path):
            raise OSError(22, "Invalid argument")
        return real(path, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    with parts.replacing(tmp_path / "out.csv") as part:
        part.write_bytes(b"new")
    assert (tmp_path / "out.csv").read_bytes() == b"new"


def test_a_place_where_no_part_can_be_made(tmp_path, monkeypatch):
    def full(path, mode):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts, "new_part", full)
    with pytest.raises(shoal.errors.MachineError, match="cannot be written: No space left on device"):
        shoal.write(pa.table({"a": [1]}), tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


def test_what_others_planted_under_the_name_of_a_part_is_not_touched(folder):
    """A pipe would make the run wait for ever; a link, or a folder with something `old`, would move files."""
    victim = folder / "victim"
    victim.write_bytes(b"mine")
    planted = [folder / f".new.csv.{4 * word}.part" for word in ("aa", "bb", "cc", "dd")]
    planted[0].symlink_to(victim)
    os.mkfifo(planted[1], 0o600)
    release_folder(folder / "elsewhere", "kept").joinpath(parts.OLD).write_text("victim")
    planted[2].symlink_to(folder / "elsewhere")
    planted[3].mkdir()
    planted[3].chmod(0o777)  # as one that others may fill
    (planted[3] / parts.OLD).write_text("planted")
    run = protect(folder / "in.csv", folder / "new.csv", timeout=120)
    assert run.returncode == 0, run.stderr
    assert shoal.read(folder / "new.csv").num_rows == 3000
    assert victim.read_bytes() == b"mine"
    assert (folder / "elsewhere" / parts.OLD).read_text() == "victim"
    assert all(os.path.lexists(path) for path in planted)


def test_a_part_of_another_user_is_not_touched(folder, monkeypatch):
    part = folder / ".out.csv.0123abcd.part"
    part.write_bytes(b"theirs")
    part.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: part.stat().st_uid + 1)
    parts.sweep(folder / "out.csv")
    assert part.read_bytes() == b"theirs"


def plant(folder, victim):
    """Put a link in the place of the one part that is written there, as others can in a folder of theirs."""
    (part,) = folder.glob(".*.part")
    part.rename(folder / "moved")
    part.symlink_to(victim)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.arrow", "out.sav", "out.xlsx"])
def test_a_link_that_takes_the_place_of_an_unfinished_file_is_not_followed(folder, name):
    victim = folder / "victim"
    victim.write_bytes(b"mine")
    (folder / name).write_bytes(OLD)
    original, write = shoal.read(folder / "in.csv"), files.file_format(folder / name).write

    def write_elsewhere():
        with parts.replacing(folder / name) as part:
            plant(folder, victim)
            write(original, part)

    with pytest.raises(MachineError, match="somebody else has changed the unfinished file"):
        write_elsewhere()
    assert victim.read_bytes() == b"mine"
    assert shoal.read((folder / "moved").rename(folder / f"moved.{name}")).num_rows == 3000
    assert (folder / name).read_bytes() == OLD


def test_a_link_that_takes_the_place_of_an_unfinished_folder_is_not_followed(folder):
    victim = folder / "victim"
    victim.mkdir()
    (victim / "mine").touch()
    with parquet.workplace(folder / "new") as work:
        plant(folder, victim)
        (work / "rows").write_bytes(b"original rows")
    assert [path.name for path in victim.iterdir()] == ["mine"]
    assert list((folder / "moved").iterdir()) == []  # nothing of the original stays there


def test_where_the_system_shows_no_handles_a_part_has_its_name(folder):
    assert parts.by_handle(folder / "part", 10**6) == folder / "part"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "out.csv")
    with pytest.raises(InputError, match="is a pipe or a device"), parts.replacing(tmp_path / "out.csv"):
        raise AssertionError


@pytest.fixture
def mask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o777


def test_permissions_of_outputs(tmp_path, mask):
    out, old = tmp_path / "out.csv", tmp_path / "old.csv"
    old.write_bytes(OLD)
    old.chmod(0o604)
    for path in (out, old):
        with parts.replacing(path) as part:
            part.write_bytes(b"half")
            assert mode(part) == 0o600
    assert (mode(out), mode(old)) == (0o640, 0o604)
    release = shoal.microaggregate(survey(60), 3, columns=["turnover", "wages"], method="multi_dsort")
    for edition, wanted in (("internal", 0o600), ("public", 0o640)):
        release.report(tmp_path / f"{edition}.txt", edition, bound_time=None)
        assert mode(tmp_path / f"{edition}.txt") == wanted
    with parquet.workplace(tmp_path / "made") as work:
        assert mode(work) == 0o700
        target = release_folder(tmp_path / "made", "old")
        target.chmod(0o705)
        parquet.publish(release_folder(work / "release", "new"), target)
    assert mode(tmp_path / "made") == 0o705


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (ValueError("a cell is broken.\nLINE 1: SELECT"), "a cell is broken"),
        (ValueError({"S": "ERROR", "M": "the table is gone"}), "the table is gone"),  # as pg8000 tells it
        (ValueError(), "ValueError"),
    ],
)
def test_what_an_error_says(error, said):
    assert parts.first_sentence(error) == said
