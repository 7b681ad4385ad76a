"""Tables in object stores, against a small store on loopback: all is published, or nothing."""

import contextlib
import json
import os
import socket
import stat
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.errors import InputError, MachineError
from shoal.io import stores
from shoal.io.databases.address import is_remote, shown
from tests.missing import program
from tests.s3_server import running

QUASI = ["income", "age"]
#: Stores that others wrote, which lie on loopback: the program, how it is started, and an object's address.
EMULATORS = {
    "gs": (
        "gcp-storage-emulator",
        "start --host 127.0.0.1 --port {} --in-memory --default-bucket bucket",
        "gs://anonymous@bucket/{}?scheme=http&endpoint_override=127.0.0.1:{}",
    ),
    "abfs": (
        "azurite-blob",
        "--silent --inMemoryPersistence --skipApiVersionCheck --blobPort {}",
        "abfs://shoal:c2hvYWw%3D@127.0.0.1:{1}/bucket/{0}?enable_tls=false",
    ),
}


def people(n=400):
    rng = np.random.default_rng(1)
    return pa.table(
        {"income": rng.lognormal(3, 1, n), "age": rng.integers(0, 90, n), "year": rng.choice([2019, 2020], n)}
    )


def packed(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def store(monkeypatch, tmp_path):
    """The store that s3:// leads to, and a folder of our own to work in."""
    with running() as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        monkeypatch.chdir(tmp_path)
        yield store


def protect(source, target, **options):
    return shoal.protect_files(source, target, 5, columns=QUASI, method="mdav", **options)


def names(store):
    return sorted(key for key in store.objects if not key.endswith("/"))


def test_a_folder_is_protected_from_store_to_store(store, tmp_path):
    """Partitioned or not; the manifest comes last, and names each part by its content."""
    table = people()
    for year in (2019, 2020):
        mask = pa.compute.equal(table["year"], year)
        store.objects[f"in/year={year}/0.parquet"] = packed(table.filter(mask).drop_columns(["year"]))
    store.objects["in/_SUCCESS"] = b""
    outcome = protect("s3://bucket/in", "s3://bucket/out")
    sent = [key for method, key in store.asked if method in ("PUT", "POST") and key.startswith("out/")]
    assert sent[-1] == "out/_manifest.json"
    manifest = json.loads(store.objects["out/_manifest.json"])
    assert names(store) == sorted(
        ["in/_SUCCESS", "in/year=2019/0.parquet", "in/year=2020/0.parquet", "out/_manifest.json"]
        + [f"out/{part['name']}" for part in manifest["parts"]]
    )
    assert outcome.records == 400
    for part in manifest["parts"]:
        assert part["sha256"][:8] in part["name"]
    back = stores.Store("s3://bucket/out").bring(tmp_path)
    released = pa.Table.from_batches(
        [b for _, b in shoal.io.parquet.ParquetTable(back).batches([*QUASI, "year"])]
    )
    assert sorted(released["year"].to_pylist()) == sorted(table["year"].to_pylist())
    assert shoal.check("s3://bucket/out", 5, QUASI)[0].passed
    private = tmp_path / "out.private.json"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert any("'out.private.json'" in note for note in outcome.notes)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.private.json"}


def test_a_release_in_a_store_is_replaced_only_if_asked(store):
    store.objects["in.parquet"] = packed(people())
    protect("s3://bucket/in.parquet", "s3://bucket/out")
    old = set(names(store))
    with pytest.raises(InputError, match="'s3://bucket/out' is not empty: name another, or let"):
        protect("s3://bucket/in.parquet", "s3://bucket/out")
    protect("s3://bucket/in.parquet", "s3://bucket/out", seed=1, replace=True)
    new = set(names(store))
    assert len(new) == len(old)
    assert len(new - old) == 1  # the part; manifest and input have their names
    del store.objects["out/_manifest.json"]
    with pytest.raises(InputError, match=r"has no _manifest.json, so it is no release"):
        protect("s3://bucket/in.parquet", "s3://bucket/out", replace=True)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "xlsx"])
def test_a_file_is_read_protected_and_written(store, ending):
    shoal.write(people(), f"s3://bucket/in.{ending}")
    assert shoal.read(f"s3://bucket/in.{ending}").num_rows == 400
    release = shoal.microaggregate(f"s3://bucket/in.{ending}", 5, columns=QUASI, method="mdav")
    release.write(f"s3://bucket/out.{ending}")
    assert names(store) == [f"in.{ending}", f"out.{ending}"]
    assert shoal.check(f"s3://bucket/out.{ending}", 5, QUASI)[0].passed
    with pytest.raises(InputError, match=r"never overwritten"):
        release.write(f"s3://bucket/in.{ending}")


def test_the_command_line_goes_from_store_to_store(store, tmp_path):
    shoal.write(people(), "s3://bucket/in.csv")
    words = ["-k", "5", "-c", "income,age", "-m", "mdav"]

    def run(*given):
        return CliRunner().invoke(app, list(given))

    done = run("protect", "s3://bucket/in.csv", *words, "-o", "s3://bucket/out.csv")
    assert done.exit_code == 0, done.output
    done = run("check", "s3://bucket/out.csv", *words, "--original", "s3://bucket/in.csv")
    assert done.exit_code == 0, done.output
    assert "each found again" in done.output
    done = run("protect", "s3://bucket/in.csv", *words)
    assert done.exit_code == 2
    assert "name the output with -o" in done.output
    store.objects["in/0.parquet"] = packed(people())
    done = run("protect", "s3://bucket/in", *words, "-o", str(tmp_path / "here"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "here/_manifest.json").exists()
    done = run("protect", "s3://bucket/in", *words)
    assert "name the output with -o" in done.output
    done = run("protect", "s3://bucket/in", *words, "--engine", "spark", "-o", "out")
    assert done.exit_code == 2
    assert "'s3://bucket/in' is for Spark itself to open" in " ".join(done.output.split())


def test_only_the_named_store_is_asked(store):
    """Nobody asks the service that hands out credentials on machines of a cloud."""
    shoal.write(people(), "s3://bucket/in.csv")
    assert os.environ["AWS_EC2_METADATA_DISABLED"] == "true"
    assert {key.partition("/")[0] for _, key in store.asked} <= {"", "in.csv"} | {
        key for _, key in store.asked if key.startswith(".in.csv.")
    }


def test_without_credentials_nothing_is_asked(store, monkeypatch, tmp_path):
    for name in [name for names, *_ in stores._WHO.values() for name in names]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for address, remedy in (
        ("s3://bucket/x.csv", "AWS_ACCESS_KEY_ID"),
        ("gs://bucket/x.csv", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("abfs://me@localhost:1/bucket/x", "AZURE_STORAGE_KEY"),
        ("abfss://box@account.dfs.core.windows.net/x.csv", "AZURE_STORAGE_KEY"),
    ):
        with pytest.raises(InputError, match=f"no credentials were found for '{address}': set .*{remedy}"):
            shoal.read(address)
    assert store.asked == []
    assert stores.Store("gs://anonymous@bucket/x.csv").path == "bucket/x.csv"
    assert stores.Store("s3://who:secret@bucket/x.csv").path == "bucket/x.csv"


def test_azure_is_asked_by_whom_the_user_names(monkeypatch):
    """Arrow would pass over the key, and ask who this machine is."""

    def asked(address, **names):
        monkeypatch.setattr(os, "environ", names)
        (given,) = stores.Store(address).files.__reduce__()[1]
        return {
            name: value for name, value in given.items() if value and not name.startswith(("blob", "dfs"))
        }

    named, who = "abfs://me:a%2Fb%3D@bucket/x", {"account_name": "me"}
    application = {"tenant_id": "t", "client_id": "c", "client_secret": "s"}
    variables = {f"AZURE_{name.upper()}": value for name, value in application.items()}
    assert asked(named) == asked(named, **variables) == who | {"account_key": "a/b="}
    assert asked("abfs://me@bucket/x", AZURE_STORAGE_KEY="k") == who | {"account_key": "k"}
    assert asked("abfs://me@bucket/x", **variables) == who | application
    assert asked("abfs://me@bucket/x?sv=1&sig=2") == who | {"sas_token": "?sv=1&sig=2"}
    with pytest.raises(InputError, match="is not encrypted, so only a key may be sent there"):
        asked("abfs://me@127.0.0.1:1/bucket/x?enable_tls=false", **variables)


@pytest.fixture
def emulated(request, tmp_path, monkeypatch):
    """The address of an object in a store that others wrote, on loopback."""
    name, words, address = EMULATORS[request.param]
    found = program(name)
    if not found:
        pytest.skip(f"{request.param}:// IS NOT TESTED: {name} is not installed")
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = line.getsockname()[1]
    env = os.environ | {"AZURITE_ACCOUNTS": "shoal:c2hvYWw="}
    monkeypatch.chdir(tmp_path)
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([found, *words.format(port).split()], env=env, **silent) as running:
        try:
            while running.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
            yield lambda name: address.format(name, port)
        finally:
            running.terminate()


@pytest.mark.parametrize("emulated", EMULATORS, indirect=True)
def test_google_and_azure_are_read_and_written(emulated):
    table, files = people(), stores.Store(emulated("in")).files
    files.create_dir("bucket")
    for year in (2019, 2020):
        with files.open_output_stream(f"bucket/in/year={year}/0.parquet") as stream:
            stream.write(packed(table.filter(pa.compute.equal(table["year"], year)).drop_columns(["year"])))
    assert protect(emulated("in"), emulated("out")).records == 400
    assert shoal.check(emulated("out"), 5, QUASI)[0].passed
    with pytest.raises(InputError, match="is not empty: name another"):
        protect(emulated("in"), emulated("out"))
    protect(emulated("in"), emulated("out"), seed=1, replace=True)
    assert len(stores.Store(emulated("out"))._below()) == 3  # a part for each year, and the manifest
    shoal.write(table, emulated("one.csv"))
    assert shoal.read(emulated("one.csv")).equals(table)
    with pytest.raises(InputError, match="there is no object"):
        shoal.read(emulated("none.csv"))
    left = files.get_file_info(fs.FileSelector("bucket", recursive=True))
    assert {info.path.split("/")[1] for info in left} == {"in", "one.csv", "out"}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://bucket/no.csv", "there is no object, and no .parquet file below 's3://bucket/no.csv'"),
        ("s3://nobucket/no.csv", "there is no object"),
        ("s3://bucket", "'s3://bucket' names no object in its bucket"),
        ("s3://bucket/a b.csv", "'s3://bucket/a b.csv' cannot be reached: Cannot parse URI"),
        ("s3://bucket/broken.csv.gz", "'s3://bucket/broken.csv.gz' cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_address(store, address, said):
    store.objects["broken.csv.gz"] = b"\x1f\x8b no gzip"
    for read in (shoal.read, lambda a: shoal.microaggregate(a, 5)):
        with pytest.raises(InputError, match=said):
            read(address)


def test_secrets_in_addresses_are_not_shown():
    assert shown("s3://who:se/cret@bucket/x?region=a&session_token=abc") == (
        "s3://who:***@bucket/x?region=a&session_token=***"
    )
    assert shown("s3://bucket/a:b@c.csv") == "s3://bucket/a:b@c.csv"
    assert is_remote("gs://a/b")
    assert not is_remote("https://a/b")
    assert not is_remote(None)


def test_a_bucket_that_refuses(store):
    store.objects["in.parquet"] = packed(people())
    store.refuse = lambda method, key: method == "POST"
    with pytest.raises(MachineError, match="'s3://bucket/out' cannot be reached: access denied"):
        protect("s3://bucket/in.parquet", "s3://bucket/out")
    assert ("GET", "in.parquet") not in store.asked  # said before the work
    store.refuse = lambda method, key: True
    with pytest.raises(InputError, match=r"'s3://bucket/in.parquet' cannot be reached: access denied"):
        shoal.read("s3://bucket/in.parquet")
    assert names(store) == ["in.parquet"]


def test_check_and_measure_of_stores_that_refuse(store, monkeypatch):
    """Whichever of the two tables it is; and measure takes a release that lies in a store."""
    for name in ("was.csv", "safe.csv"):
        shoal.write(people(), f"s3://bucket/{name}")
    measured = ("measure", "s3://bucket/was.csv", "s3://bucket/safe.csv", "-c", "income", "--order", "keep")
    checked = (
        "check",
        "s3://bucket/safe.csv",
        "-k",
        "1",
        "--original",
        "s3://bucket/was.csv",
        "-c",
        "income",
    )

    def run(*words):
        done = CliRunner().invoke(app, words)
        return done.exit_code, " ".join(done.stderr.split())

    assert run(*measured)[0] == run(*checked)[0] == 0
    for name in ("was.csv", "safe.csv"):
        store.refuse = lambda method, key, name=name: key == name
        for words in (measured, checked):
            assert run(*words) == (2, f"shoal: 's3://bucket/{name}' cannot be reached: access denied")
        store.refuse = lambda method, key: False
        store.cut = lambda key, name=name: key == name
        for words in (measured, checked):
            status, said = run(*words)
            assert (status, f"'s3://bucket/{name}' cannot be reached: network connection" in said) == (
                2,
                True,
            )
        store.cut = lambda key: False
    for name in [name for names, *_ in stores._WHO.values() for name in names]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nowhere")
    for words in (measured, checked):
        assert "no credentials were found for 's3://bucket/" in run(*words)[1]


def test_a_stream_that_ends_early(store, tmp_path):
    store.objects["in.parquet"] = packed(people())
    store.cut = lambda key: True
    with pytest.raises(InputError, match=r"'s3://bucket/in.parquet' cannot be reached: network connection"):
        protect("s3://bucket/in.parquet", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    info = stores.Store("s3://bucket/in.parquet")._info("bucket/in.parquet")
    store.cut, store.objects["in.parquet"] = lambda key: False, store.objects["in.parquet"][:-9]
    with pytest.raises(InputError, match=f"ended after {info.size - 9} of {info.size} bytes: try again"):
        stores.Store("s3://bucket/in.parquet")._copy(info, tmp_path / "copy")


@pytest.mark.parametrize("fails", ["part", "manifest", "content"])
def test_nothing_half_published_stays(store, fails, monkeypatch):
    store.objects["in.parquet"] = packed(people())
    if fails == "content":
        sent = lambda source, stream, size: stream.write(b"something else")  # noqa: E731
        monkeypatch.setattr(stores.shutil, "copyfileobj", sent)
    else:
        sign = ".parquet" if fails == "part" else "_manifest.json"
        store.refuse = lambda method, key: method == "POST" and key.startswith("out/") and key.endswith(sign)
    with pytest.raises(MachineError, match=r"access denied|has not what was sent: nothing is published"):
        protect("s3://bucket/in.parquet", "s3://bucket/out")
    assert names(store) == ["in.parquet"]
    if fails == "content":
        with pytest.raises(MachineError, match="has not what was sent"):
            shoal.write(people(), "s3://bucket/x.csv")
        assert names(store) == ["in.parquet"]


def test_what_cannot_be_removed_is_named(store):
    store.objects["in.parquet"] = packed(people())
    store.refuse = lambda method, key: (
        key.startswith("out/")
        and (method == "DELETE" or (method == "POST" and key.endswith("_manifest.json")))
    )
    with pytest.raises(MachineError, match="denied; left there, so delete it: bucket/out/part-00000-"):
        protect("s3://bucket/in.parquet", "s3://bucket/out")
    store.refuse = lambda method, key: method == "DELETE"
    with pytest.raises(MachineError, match=r"in 's3://bucket/x.csv' these could not be deleted: bucket/\.x"):
        shoal.write(people(), "s3://bucket/x.csv")


def test_names_that_lead_elsewhere(store, tmp_path):
    store.objects["in/../../evil.parquet"] = packed(people())
    with pytest.raises(InputError, match=r"has a name that no file can have here: '\.\.'; rename it"):
        protect("s3://bucket/in", tmp_path / "out")
    assert not list(tmp_path.parent.glob("evil*"))


def test_a_copy_that_cannot_be_made_here(store, tmp_path):
    store.objects["in.parquet"] = packed(people())
    (tmp_path / "in.parquet").write_bytes(b"")
    with pytest.raises(MachineError, match="cannot be copied here: File exists"):
        stores.Store("s3://bucket/in.parquet").bring(tmp_path)


def test_a_folder_to_write_to_must_exist(store, tmp_path):
    store.objects["in.parquet"] = packed(people())
    with pytest.raises(InputError, match="does not exist: make it first"):
        protect("s3://bucket/in.parquet", tmp_path / "no" / "out")
    assert store.asked == []


def test_a_target_inside_the_input(store):
    store.objects["in/0.parquet"] = packed(people())
    with pytest.raises(InputError, match="in/out"):
        protect("s3://bucket/in", "s3://bucket/in/out")
