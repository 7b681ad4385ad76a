"""Tables larger than memory: what is released, however it was cut, and what can go wrong."""

import contextlib
import functools
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.engines.blocks.plan import BlockPlan, _place
from shoal.engines.disk import engine as disk
from shoal.errors import CheckFailed, InputError, MachineError
from shoal.io import parquet
from shoal.io.limits import memory
from shoal.plan import Plan
from shoal.stages.encode import standardise
from shoal.stages.moments import Moments
from shoal.verify.files import check, check_original
from tests.app_server import traced

QUASI = ["income", "age", "born"]
KEPT = ["id", "name"]  # columns that look like identifiers


def people(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 20000, n)
    return pa.table(
        {
            "id": np.arange(n),
            "income": rng.lognormal(3, 1, n),
            "name": [f"person {i % 7}" if i % 5 else None for i in range(n)],
            "age": rng.integers(0, 90, n).astype(np.int16),
            "born": [date(1950, 1, 1) + timedelta(int(d)) for d in days],
            "odd": [float("nan") if i % 3 else i / 7 for i in range(n)],
            "list": [[i, i + 1] for i in range(n)],
        }
    )


def folder_of(table, path, cuts=(700, 900)):
    path.mkdir()
    for number, (a, b) in enumerate(zip((0, *cuts), (*cuts, len(table)))):
        pq.write_table(table.slice(a, b - a), path / f"{number}.parquet", row_group_size=333)
    return path


def read(path):
    return pq.read_table(path)


def protect(source, target, k=5, columns=QUASI, method="mdav", block_records=300, **options):
    run = {
        name: options.pop(name)
        for name in ("replace", "compute", "blocks", "progress", "batch_records", "part_records")
        if name in options
    }
    keep = [name for name in KEPT if name not in {*columns, *options.get("roles", {})}]
    plan = Plan.of(k, columns=columns, method=method, **{"keep": keep, **options})
    return disk.run(plan, source, target, block_records=block_records, **run)


def as_numbers(table, name):
    cells = table[name]
    return cells.cast(pa.int32()).to_numpy() if name == "born" else cells.to_numpy()


def test_a_folder_becomes_parts_in_order_with_a_manifest(tmp_path):
    original = people()
    sizes = {"batch_records": 256, "part_records": 600}
    outcome = protect(folder_of(original, tmp_path / "in"), tmp_path / "out", order="keep", **sizes)
    released = read(tmp_path / "out")
    assert released.schema.equals(original.schema)
    for name in ("id", "name", "list"):
        assert released[name].equals(original[name])
    np.testing.assert_array_equal(released["odd"].to_numpy(), original["odd"].to_numpy())
    (finding,) = check(released, 5, QUASI)
    assert finding.passed
    assert outcome.blocks > 4
    assert outcome.smallest_group >= 5

    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_text())
    assert len(manifest["parts"]) > 2
    assert sum(part["records"] for part in manifest["parts"]) == len(original) == manifest["records"]
    for part in manifest["parts"]:
        content = (tmp_path / "out" / part["name"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == part["sha256"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out", "out.private.json"]
    path = parquet.private_path(tmp_path / "out")
    assert any(str(path) in note for note in outcome.notes)
    private = json.loads(path.read_text())
    assert BlockPlan.from_json(private["block_plan"]).sha256() == private["plan_sha256"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert not {"block_plan", "seed", "plan_sha256"} & set(manifest)

    before = [as_numbers(original, name) for name in QUASI]
    Z, scales = standardise(before)
    new = np.stack([s.apply(as_numbers(released, name)) for s, name in zip(scales, QUASI)], axis=1)
    lost = 100 * np.square(Z - new).sum() / np.square(Z).sum()
    assert outcome.information_loss + outcome.rounding_loss == pytest.approx(lost, rel=1e-9)


def test_one_block_is_what_memory_gives(tmp_path):
    original = people(600)
    pq.write_table(original, tmp_path / "in.parquet")
    outcome = shoal.protect_files(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        4,
        columns=QUASI,
        method="mdav",
        order="keep",
        keep=KEPT,
    )
    release = shoal.microaggregate(original, 4, columns=QUASI, method="mdav")
    released = pq.read_table(tmp_path / "out.parquet")
    for name in QUASI:
        np.testing.assert_allclose(as_numbers(released, name), as_numbers(release.table, name), rtol=1e-12)
    assert outcome.information_loss == pytest.approx(release.information_loss, rel=1e-12)


def test_the_default_method_groups_every_block(tmp_path):
    folder_of(people(1200), tmp_path / "in")
    outcome = protect(tmp_path / "in", tmp_path / "out.parquet", method="auto", block_records=400)
    plain = protect(tmp_path / "in", tmp_path / "plain.parquet", method="mdav", block_records=400)
    assert outcome.blocks > 1
    assert outcome.information_loss < plain.information_loss


def test_a_frozen_plan_gives_the_same_release_however_the_table_is_cut_and_ordered(tmp_path, monkeypatch):
    original = people()
    folder_of(original, tmp_path / "in")
    protect(tmp_path / "in", tmp_path / "out", seed=3, method="repordmic")
    frozen = BlockPlan.from_json(json.loads((tmp_path / "out.private.json").read_text())["block_plan"])
    shuffled = original.take(np.random.default_rng(1).permutation(len(original)))
    folder_of(shuffled, tmp_path / "other", (10, 1500, 1501))
    monkeypatch.setenv("SHOAL_THREADS", "1")
    options = {"method": "repordmic", "blocks": frozen, "batch_records": 100}
    protect(tmp_path / "other", tmp_path / "again", seed=3, **options)
    with pytest.raises(InputError, match=r"made for seed=3, not 4: ask for the same"):
        protect(tmp_path / "other", tmp_path / "no", seed=4, method="repordmic", blocks=frozen)
    again, first = (read(tmp_path / name).sort_by("id") for name in ("again", "out"))
    for name in QUASI:
        assert again[name].equals(first[name])


def test_many_alike_records_make_no_block_too_large(tmp_path):
    original = pa.table({"a": np.r_[np.zeros(5000, np.int64), np.arange(40)], "b": np.ones(5040)})
    pq.write_table(original, tmp_path / "in.parquet")
    outcome = protect(
        tmp_path / "in.parquet", tmp_path / "out.parquet", columns=["a", "b"], keep=(), block_records=500
    )
    assert outcome.blocks > 8
    assert check(read(tmp_path / "out.parquet"), 5, ["a", "b"])[0].passed


def test_gaps_are_grouped_with_gaps(tmp_path):
    original = people()
    income = original["income"].to_numpy().copy()
    income[::10] = np.nan
    age = pa.array(
        [None if i % 20 == 1 else int(a) for i, a in enumerate(original["age"].to_pylist())], pa.int16()
    )
    original = original.set_column(1, "income", pa.array(income)).set_column(3, "age", age)
    folder_of(original, tmp_path / "in")
    protect(tmp_path / "in", tmp_path / "out")
    released = read(tmp_path / "out")
    assert check(released, 5, QUASI)[0].passed
    assert released["income"].null_count == 200
    assert released["age"].null_count == 100
    with pytest.raises(InputError, match="'income' has 200 gaps"):
        protect(tmp_path / "in", tmp_path / "no", missing="error")


def test_records_with_gaps_are_left_out(tmp_path):
    """In every block, and a category's gap is one too; the order of the others is found again."""
    original = people()
    income = original["income"].to_numpy().copy()
    income[::10] = np.nan
    sex = [None if i % 50 == 3 else "fm"[i % 2] for i in range(len(original))]
    original = original.set_column(1, "income", pa.array(income)).append_column("sex", pa.array(sex))
    folder_of(original, tmp_path / "in")
    plan = {"columns": ["income", "age", "sex"], "keep": [*KEPT, "born"], "method": "mdav_generic"}
    outcome = protect(tmp_path / "in", tmp_path / "out", missing="drop", **plan)
    released = read(tmp_path / "out").sort_by("id")
    there = [i for i in range(len(original)) if i % 10 and i % 50 != 3]
    assert released["id"].to_pylist() == original["id"].take(there).to_pylist()
    assert released["income"].null_count == released["sex"].null_count == 0
    assert check(released, 5, plan["columns"])[0].passed
    assert "240 of 2000 records have a gap and were left out" in outcome.notes
    whole = original.set_column(1, "income", people()["income"]).set_column(7, "sex", pa.array(["f"] * 2000))
    folder_of(whole, tmp_path / "whole")
    assert protect(tmp_path / "whole", tmp_path / "all", missing="drop", **plan).records == 2000
    alone = original.set_column(1, "income", pa.array([1.0, 2.0, 3.0] + [None] * 1997))
    folder_of(alone, tmp_path / "alone")
    with pytest.raises(InputError, match="only 3 records have no gap, fewer than k=5"):
        protect(tmp_path / "alone", tmp_path / "no", missing="drop", **plan)


def test_blocks_share_the_time_that_is_left(tmp_path, monkeypatch):
    """Each pair of blocks gets of the time that is left its part of the records that are left."""
    folder_of(people(), tmp_path / "in")
    limits = []

    def watched(plan, needed, block, *rest):
        limits.append(rest[-1])
        return real(plan, needed, block, *rest)

    real = disk.protect_block
    monkeypatch.setattr(disk, "protect_block", watched)
    outcome = protect(tmp_path / "in", tmp_path / "out", time_limit=1e6)
    assert outcome.blocks == len(limits) > 2
    assert all(0 < limit <= 1e6 for limit in limits)
    assert max(limits[-2:]) > 0.89e6  # nearly no time passed, so the last ones get nearly all
    assert limits[0] < 0.9e6
    protect(tmp_path / "in", tmp_path / "hasty", method="auto", time_limit=1e-6)
    assert check(read(tmp_path / "hasty"), 5, QUASI)[0].passed


def test_identifiers_are_dropped(tmp_path):
    folder_of(people(), tmp_path / "in")
    protect(tmp_path / "in", tmp_path / "out", roles={"id": "identifier"})
    assert read(tmp_path / "out").column_names == ["income", "name", "age", "born", "odd", "list"]


numbers = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=30),
    st.lists(st.integers(10**15, 10**15 + 50), min_size=2, max_size=30),
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=30),
    st.lists(st.floats(1e9, 1e9 + 1), min_size=2, max_size=30),
)


@given(numbers, st.data())
def test_moments_of_parts_are_those_of_the_whole(values, data):
    whole = np.array(values, np.int64 if isinstance(values[0], int) else np.float64)
    cut = data.draw(st.integers(0, len(values)))
    parts = [Moments.of(part) for part in (whole[:cut], whole[cut:])]
    merged = (parts[0] + parts[1]).scale()
    _, (expected,) = standardise([whole])
    assert merged[:2] == expected[:2]
    assert merged[2:] == pytest.approx(expected[2:], rel=1e-9, abs=1e-9 * abs(expected.mean) + 1e-300)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40), st.integers(2, 20), st.data())
def test_no_block_is_short_and_every_record_has_one(counts, k, data):
    parting = data.draw(st.lists(st.integers(0, 6), min_size=len(counts) - 1, max_size=len(counts) - 1))
    places, blocks = _place(parting, counts, 100, k)
    per_block = np.zeros(len(blocks))
    for (first, shards), count in zip(places, counts):
        per_block[first : first + shards] += count / shards
    assert per_block.sum() == pytest.approx(sum(counts))
    if sum(counts) >= k:
        assert per_block.min() >= k
    assert per_block.max() <= 400


# --- what goes wrong --------------------------------------------------------------------------------------


def spoil_missing(folder):
    table = pq.read_table(folder / "1.parquet")
    pq.write_table(table.drop_columns(["age"]), folder / "1.parquet")


def spoil_more(folder):
    table = pq.read_table(folder / "2.parquet")
    pq.write_table(table.append_column("new", table["id"]), folder / "2.parquet")


def spoil_type(folder):
    table = pq.read_table(folder / "1.parquet")
    pq.write_table(table.set_column(3, "age", table["age"].cast(pa.float64())), folder / "1.parquet")


def spoil_short(folder):
    content = (folder / "2.parquet").read_bytes()
    (folder / "2.parquet").write_bytes(content[: len(content) // 2])


def spoil_inside(folder):
    content = bytearray((folder / "1.parquet").read_bytes())
    content[100 : len(content) - 4000] = bytes(len(content) - 4100)
    (folder / "1.parquet").write_bytes(content)


def spoil_infinite(folder):
    table = pq.read_table(folder / "1.parquet")
    values = table["income"].to_numpy().copy()
    values[4] = np.inf
    pq.write_table(table.set_column(1, "income", pa.array(values)), folder / "1.parquet")


def spoil_names(folder):
    """A column that would pass for one of ours is not looked at, and an identifier would be published."""
    for path in folder.iterdir():
        table = pq.read_table(path)
        pq.write_table(table.append_column("__shoal_was_tag", table["id"]), path)


def spoil_folder(folder):
    (folder / "region=north").mkdir()


def spoil_all(folder):
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_missing, r"only one of '.*0.parquet' and .*1.parquet' has a column 'age'"),
        (spoil_more, r"only one of '.*0.parquet' and .*2.parquet' has a column 'new'"),
        (spoil_type, r"column 'age' is int16 in '.*0.parquet' but double in .*1.parquet'"),
        (spoil_short, r"2.parquet' cannot be read as Parquet, it may be cut short"),
        (spoil_inside, r"1.parquet' cannot be read as Parquet"),
        (spoil_infinite, r"column 'income' has the value inf in row 705"),
        (spoil_folder, r"has files beside folders, such as '0.parquet' and 'region=north'"),
        (spoil_all, r"has no .parquet files"),
        (spoil_names, r"'__shoal_was_tag' twice, or by a name that shoal needs: rename it"),
    ],
)
def test_bad_input_is_told_in_one_sentence_and_nothing_is_left(spoil, sentence, tmp_path):
    spoil(folder_of(people(), tmp_path / "in"))
    with pytest.raises(InputError, match=sentence) as told:
        protect(tmp_path / "in", tmp_path / "out")
    assert "\n" not in str(told.value)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bottom": {"income": 9}, "top": {"income": 1}}, "bottom and top of column 'income' cross"),
        ({"regroup": {"income": {"1": [2]}}}, "'income' is continuous, whose values are averaged"),
        ({"columns": ["list"]}, "column 'list' is list<.*: int64>, which cannot be read as"),
        ({"strata": ["list"], "keep": KEPT}, "column 'list' is list<.*: int64>, which cannot be read as"),
        ({"weight": "name", "keep": ["id"]}, "a weight is a number"),
        ({"dominance": {"name": "1:80"}}, "dominance needs numbers, but column 'name' is nominal"),
        ({"columns": ["incom"]}, "did you mean 'income'"),
        ({"columns": ["age", "age"]}, "named twice"),
        ({"method": "univariate"}, "groups by one column"),
        ({"k": 2001}, "k=2001 needs at least 2001 records, but the table has 2000"),
    ],
)
def test_what_blocks_cannot_do_is_said_at_once(options, sentence, tmp_path):
    folder_of(people(), tmp_path / "in")
    with pytest.raises(InputError, match=sentence):
        protect(tmp_path / "in", tmp_path / "out", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@contextlib.contextmanager
def full_disk(limit=0):
    """Gives what is to be called when no file may grow beyond so many bytes any more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(fraction=1.0, moment=0.0):
        if fraction >= moment:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))

    try:
        yield fill
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("order", ["shuffle", "keep"])
@pytest.mark.parametrize("moment", [0.0, 0.5, 0.9, 0.94, 0.951, 0.99])
def test_a_disk_that_fills_at_any_pass_leaves_nothing(moment, order, tmp_path):
    """While the statistics, the spill, the shuffle, the parts, the check and the manifest are made."""
    folder_of(people(), tmp_path / "in")
    options = {"order": order, "batch_records": 100}
    with full_disk() as fill:
        options["progress"] = functools.partial(fill, moment=moment)
        with pytest.raises(MachineError, match="cannot be written: File too large"):
            protect(tmp_path / "in", tmp_path / "out", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("kind", ["text", "stream"])
def test_a_disk_that_fills_while_records_become_parquet_leaves_nothing(kind, tmp_path):
    table = people().select([*QUASI, "name"])
    shoal.write(table, tmp_path / "in.csv")
    source = tmp_path / "in.csv" if kind == "text" else table.to_reader()
    with full_disk(100) as fill:
        fill()
        with pytest.raises(MachineError, match="cannot be written: File too large"):
            shoal.protect_files(source, tmp_path / "out", 5, columns=QUASI, keep=["name"])
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", place], stderr=-3).returncode:
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)  # Spark may still hold a file open


def test_no_space_left_on_a_small_disk(small_disk, tmp_path):
    folder_of(people(8_000), tmp_path / "in")
    with pytest.raises(MachineError, match="No space left on device"):
        protect(tmp_path / "in", small_disk / "out", block_records=1000)
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("moment", [0.02, 0.5, 0.92, 0.96])
def test_an_interruption_leaves_nothing(moment, tmp_path):
    folder_of(people(), tmp_path / "in")

    def interrupt(fraction):
        if fraction >= moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        protect(tmp_path / "in", tmp_path / "out", progress=interrupt, batch_records=100)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_what_was_written_wrongly_is_not_published(tmp_path, monkeypatch):
    folder_of(people(), tmp_path / "in")
    write = parquet.PartWriter.write
    for name in ("age", "id"):

        def spoiled(self, batch, name=name):
            at = batch.schema.get_field_index(name)
            cells = batch.column(at).to_numpy().copy()
            cells[-1] += 1
            write(self, batch.set_column(at, batch.schema.field(at), pa.array(cells)))

        monkeypatch.setattr(parquet.PartWriter, "write", spoiled)
        with pytest.raises(CheckFailed, match=f"column '{name}' is not what it should be"):
            protect(tmp_path / "in", tmp_path / "out")
    monkeypatch.setattr(parquet.PartWriter, "write", lambda self, batch: write(self, batch.slice(1)))
    with pytest.raises(CheckFailed, match="nothing is released"):
        protect(tmp_path / "in", tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_a_file_that_changes_meanwhile_is_refused(tmp_path):
    folder_of(people(), tmp_path / "in")

    def change(fraction):
        if fraction > 0.5:
            pq.write_table(people(1100, seed=2), tmp_path / "in" / "2.parquet")

    with pytest.raises(InputError, match=r"has changed since it was first read"):
        protect(tmp_path / "in", tmp_path / "out", progress=change)


def test_a_folder_is_replaced_as_a_whole_and_only_if_it_is_a_release(tmp_path):
    folder_of(people(), tmp_path / "in")
    protect(tmp_path / "in", tmp_path / "out", k=4)
    (tmp_path / "out" / "part-00009.parquet").write_bytes(b"of an older release")
    with pytest.raises(InputError, match="exists and is not empty"):
        protect(tmp_path / "in", tmp_path / "out")
    protect(tmp_path / "in", tmp_path / "out", replace=True)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["_manifest.json", "part-00000.parquet"]
    assert check(read(tmp_path / "out"), 5, QUASI)[0].passed
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is no release"):
        protect(tmp_path / "in", tmp_path / "mine", replace=True)
    with pytest.raises(InputError, match="never overwritten"):
        protect(tmp_path / "in", tmp_path / "in", replace=True)
    with pytest.raises(InputError, match="lies inside the input"):
        protect(tmp_path / "in", tmp_path / "in" / "out")


def test_a_folder_is_checked_from_files_alone(tmp_path):
    source = folder_of(people(1500), tmp_path / "in")
    target = tmp_path / "out"
    protect(source, target, part_records=600, batch_records=300, order="keep")
    assert len(list(target.glob("*.parquet"))) > 1
    (target / "_of no concern.parquet").write_bytes(b"no table")
    (found,) = check(target, 5, QUASI)
    assert (found.records, found.passed) == (1500, True)
    plan = Plan.of(5, columns=QUASI, method="mdav", order="keep")
    assert check_original(target, source, QUASI, plan=plan).passed
    assert not check_original(target, people(1500, seed=9), QUASI, plan=plan).passed
    options = [word for name in QUASI for word in ("-c", name)]
    words = ["check", str(target), "-k", "5", *options, "--order", "keep", "--original", str(source)]
    assert CliRunner().invoke(app, words).exit_code == 0

    first = min(target.glob("part*.parquet"))
    pq.write_table(pq.read_table(first).slice(1), first)  # a record is lost
    assert CliRunner().invoke(app, words).exit_code == 1
    pq.write_table(pq.read_table(first).drop_columns(["odd"]), first)
    with pytest.raises(InputError, match=r"only one of '.*part-00000.parquet' and .* has a column 'odd'"):
        check(target, 5, QUASI)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no .parquet files"):
        check(tmp_path / "empty", 5, QUASI)


def test_a_shuffled_folder_has_parts_of_the_size_asked_for_and_its_rows_are_found_again(tmp_path):
    source, target = folder_of(people(1500), tmp_path / "in"), tmp_path / "out"
    protect(source, target, part_records=600, batch_records=300)
    assert [len(read(part)) for part in sorted(target.glob("*.parquet"))] == [600, 600, 300]
    found = check_original(target, source, QUASI, plan=Plan.of(5, columns=QUASI, method="mdav", keep=KEPT))
    assert found.passed, found
    assert found.by_row


# --- the command line -------------------------------------------------------------------------------------


def cli(*words, **environment):
    command = [sys.executable, "-m", "shoal", "protect", *map(str, words)]
    environment = {**os.environ, **traced(), **environment}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_command_line_takes_a_folder(tmp_path):
    folder_of(people(500), tmp_path / "in", (100,))
    done = cli(
        tmp_path / "in", "-k", 3, "-c", "income", "-c", "age", "-m", "mdav", "--keep", "id,name", "--json"
    )
    outcome = json.loads(done.stdout)
    assert outcome["records"] == 500
    assert outcome["output"] == str(tmp_path / "in.protected")
    assert check(read(tmp_path / "in.protected"), 3, ["income", "age"])[0].passed
    again = cli(tmp_path / "in", "-k", 3, "-c", "age", "--keep", "id,name")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "exists already" in again.stderr


def test_ctrl_c_leaves_nothing(tmp_path):
    folder_of(people(60_000), tmp_path / "in")
    choice = ("-c", "income,age", "--keep", "id,name")
    process = subprocess.Popen(
        [*(sys.executable, "-m", "shoal", "protect", "in", "-k", "5", "-m", "optimise"), *choice],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and len(list(tmp_path.iterdir())) == 1:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130, said
    assert "no file is left half-written" in said
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_the_engine_is_chosen_by_the_table(tmp_path):
    from shoal.cli import large

    pq.write_table(people(500), tmp_path / "in.parquet")
    assert large.engine_for("auto", str(tmp_path / "in.parquet"), None) == "memory"
    assert large.engine_for("auto", str(tmp_path / "in.parquet"), None, most=499) == "disk"
    assert large.engine_for("memory", str(tmp_path / "in.parquet"), None) == "memory"
    assert large.engine_for("auto", str(tmp_path), None) == "disk"
    assert large.engine_for("disk", "x.CSV.gz", None) == "disk"
    assert large.engine_for("auto", "x.csv", None) == "memory"
    with open(tmp_path / "long.csv", "wb") as file:
        file.truncate(memory() // 6 + 1)  # no byte of it is written
    assert large.engine_for("auto", str(tmp_path / "long.csv"), None) == "disk"
    for words, sentence in (
        (("dsk", "x.parquet", None), "unknown engine 'dsk': did you mean 'disk'"),
        (("disk", "x.sav", None), "convert it"),
        (("spark", "x.csv", None), "convert it"),
        (("disk", "x.parquet", "local"), "--engine spark"),
    ):
        with pytest.raises(InputError, match=sentence):
            large.engine_for(*words)
    with pytest.raises(InputError, match="stdout"):
        large.large_target(str(tmp_path / "in.parquet"), "-")


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 9), st.integers(20, 400))
def test_any_table_any_k_any_blocks(tmp_path_factory, seed, k, block_records):
    place = tmp_path_factory.mktemp("any")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 700))
    original = pa.table({"a": rng.integers(0, 3, n), "b": rng.normal(size=n).astype(np.float32).round(1)})
    pq.write_table(original, place / "in.parquet")
    protect(place / "in.parquet", place / "out.parquet", k, ["a", "b"], keep=(), block_records=block_records)
    assert check(read(place / "out.parquet"), k, ["a", "b"])[0].passed
