"""The command line contract: files, streams, exit statuses, sentences."""

import json
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.commands import app
from shoal.datasets import survey
from shoal.io import files
from shoal.io.json_text import json_text

NUMBERS = ("-c", "employees,turnover,wages,assets,energy_use,profit")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "firms.csv"
    shoal.write(survey(60), path)
    return path


def call(*words, status=0):
    outcome = CliRunner().invoke(app, [str(word) for word in words])
    assert outcome.exit_code == status, outcome.output
    return outcome


def test_protect_writes_beside_the_input_and_says_what_was_lost(data):
    outcome = call("protect", data, *NUMBERS, "-k", 5, "--order", "keep")
    target = data.with_name("firms.protected.csv")
    assert outcome.stdout == ""
    for word in ("records", "60", "groups", "information lost", "time"):
        assert word in outcome.stderr
    assert sorted(p.name for p in data.parent.iterdir()) == ["firms.csv", "firms.protected.csv"]
    call("check", target, "-k", 5, "-c", "turnover", "-c", "profit")
    assert shoal.read(target).schema == shoal.read(data).schema
    assert shoal.read(target)["sector"] == shoal.read(data)["sector"]


def test_json_is_one_object_on_stdout(data):
    target = data.with_name("out.parquet")
    words = (
        "-c",
        "turnover",
        "-c",
        "profit",
        "-m",
        "mdav",
        "--seed",
        3,
        "--order",
        "keep",
        "-o",
        target,
        "--json",
    )
    found = json.loads(call("protect", data, "-k", 4, *words).stdout)
    options = {"method": "mdav", "seed": 3, "order": "keep"}
    release = shoal.microaggregate(data, 4, columns=["turnover", "profit"], **options)
    assert found["information_loss"] == release.information_loss
    assert found["records"] == 60
    assert found["groups"] == len(release.group_sizes)
    assert (found["smallest_group"], found["largest_group"]) == (4, int(release.group_sizes.max()))
    assert (found["method"], found["k"], found["seed"]) == ("mdav", 4, 3)
    assert found["output"] == str(target)
    assert found["seconds"] > 0
    assert shoal.read(target).equals(release.table)


def test_default_output_is_refused_if_it_exists_and_a_named_one_is_replaced(data):
    call("protect", data, *NUMBERS, "-k", 5)
    target = data.with_name("firms.protected.csv")
    first = target.read_bytes()
    refused = call("protect", data, *NUMBERS, "-k", 3, status=2)
    assert "exists already" in refused.stderr
    assert target.read_bytes() == first
    call("protect", data, *NUMBERS, "-k", 3, "-o", target)
    assert target.read_bytes() != first


def test_check_says_no_with_the_number_of_short_groups(data):
    outcome = call("check", data, "-k", 5, "-c", "assets", "-c", "profit", status=1)
    assert "no: 60 of 60 combinations" in outcome.stderr
    found = json.loads(call("check", data, "-k", 5, "-c", "assets", "--json", status=1).stdout)
    assert not found["passed"]
    assert found["findings"][0]["short_groups"] == found["findings"][0]["groups"]


def test_check_reads_what_is_published_and_says_what_it_cannot_tell(data):
    texts = data.with_name("texts.csv")
    texts.write_text("x\n1\n1.0\n1e0\n")
    assert "no: 3 of 3 combinations of x" in call("check", texts, "-k", 2, status=1).stderr
    texts.write_text("x\n")
    assert "no: there are no records" in call("check", texts, "-k", 2, status=1).stderr
    target = data.with_name("out.csv")
    told = ("-k", 3, "-c", "profit", "--keep", "turnover", "--keep", "wages")
    asked = (*told, "--role", "sector=identifier", "--unit", "employees")
    options, dropping = (*told, "-m", "mdav"), (*asked, "-m", "mdav")
    call("protect", data, *dropping, "-o", target)
    assert shoal.read(target).column_names == [
        name for name in survey(3).column_names if name not in ("sector", "employees")
    ]
    assert "not checkable from the file" in call("check", target, *asked, status=1).stderr
    assert "at least 3 units" in call("check", target, *dropping, "--original", data).stderr
    said = call("check", target, *options, "--original", data, status=1).stderr
    assert "column 'sector' is missing; column 'employees' is missing" in said


def test_per_column_says_what_k_means(data):
    target = data.with_name("out.csv")
    outcome = call("protect", data, *NUMBERS, "-k", 5, "--per-column", "-m", "univariate", "-o", target)
    assert "taken together, a record's values may still be its own" in " ".join(outcome.stderr.split())
    call("check", target, "-k", 5, status=1)
    assert "for each column alone" in call("check", target, "-k", 5, "--per-column").stderr


def test_methods_lists_every_key_and_tells_all_about_one():
    assert set(json.loads(call("methods", "--json").stdout)) == set(shoal.methods())
    assert "mdav_generic" in call("methods").stdout
    assert "n^2/k" in call("methods", "mdav").stdout
    assert "did you mean 'mdav'" in call("methods", "mdva", status=2).stderr


def test_version():
    assert call("--version").stdout == f"shoal {shoal.__version__}\n"


def test_demo(tmp_path):
    call("demo", "--folder", tmp_path / "demo", "-n", 200)
    call("check", tmp_path / "demo" / "firms.protected.csv", "-k", 3)


BAD_TABLES = {
    "text.csv": ("a,b\n1,2\nx,3\n4,5\n", "column 'a' holds text, first in row 2"),
    "inf.csv": ("a,b\n1,2\ninf,3\n4,5\n", "column 'a' has the value inf in row 2"),
    "short.csv": ("a,b\n1,2\n", "k=2 needs at least 2 records, but the table has 1"),
    "header.csv": ("a,b\n", "k=2 needs at least 2 records, but the table has 0"),
    "nul.csv": ("a,b\n1,2\n\0,5\n", "NUL byte in line 3"),
    "empty.csv": ("", "is empty"),
    "twice.csv": ("a,a\n1,2\n3,4\n", "two columns of"),
    "ragged.csv": ("a,b\n1,2\n3\n", "has 1 cells in row 3 but 2 columns"),
    "fake.parquet": ("not a parquet file", "cannot be read as Parquet"),
    "odd.xyz": ("a,b\n1,2\n", "has an ending shoal does not know"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(tmp_path, name):
    text, sentence = BAD_TABLES[name]
    path = tmp_path / name
    path.write_text(text)
    outcome = call("protect", path, "-k", 2, "-c", "a", "-o", tmp_path / "out.csv", status=2)
    assert sentence in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert path.read_text() == text


BAD_REQUESTS = {
    "column": (["-k", 5, "-c", "turnovr"], "there is no column 'turnovr': did you mean 'turnover'"),
    "column twice": (["-k", 5, "-c", "wages", "-c", "wages"], "named twice"),
    "n < k": (["-k", 61], "k=61 needs at least 61 records, but the table has 60"),
    "k < 1": (["-k", 0], "k must be a whole number of at least 1, not 0"),
    "k not whole": (["-k", "2.5"], "k must be a whole number of at least 1, not '2.5'"),
    "method": (["-k", 5, "-m", "mdva"], "unknown method 'mdva': did you mean 'mdav'"),
    "parameter": (["-k", 5, "-m", "mdav", "--set", "gama=1"], "method 'mdav' has no parameter 'gama'"),
    "setting": (["-k", 5, "--set", "gamma"], "--set takes NAME=VALUE"),
    "folder": (["-k", 5, "-o", "nowhere/out.csv"], "the folder 'nowhere' does not exist"),
    "ending": (["-k", 5, "-o", "out.doc"], "has an ending shoal does not know"),
    "one column": (["-k", 5, "-m", "univariate"], "groups by one column"),
    "seed": (["-k", 5, "--seed", -1], "seed must be a whole number of at least 0"),
    "time": (["-k", 5, "--time-limit", 0], "time_limit must be a positive number"),
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_bad_requests(data, name):
    words, sentence = BAD_REQUESTS[name]
    before = data.read_bytes()
    outcome = call("protect", data, *(() if "-c" in words else NUMBERS), *words, status=2)
    assert sentence in " ".join(outcome.stderr.split())
    assert [p.name for p in data.parent.iterdir()] == ["firms.csv"]
    assert data.read_bytes() == before


def test_the_input_is_never_overwritten(data):
    before = data.read_bytes()
    link = data.with_name("link.csv")
    link.symlink_to(data)
    for target in (data, link):
        assert "never overwritten" in call("protect", data, *NUMBERS, "-k", 5, "-o", target, status=2).stderr
    assert data.read_bytes() == before


def test_no_such_file_names_the_nearest(data):
    outcome = call("protect", data.with_name("frims.csv"), "-k", 5, status=2)
    assert "there is no file" in outcome.stderr
    assert "'firms.csv'" in outcome.stderr


def test_unreadable_file(data, monkeypatch):
    def locked(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(files.FORMATS, ".csv", files.FORMATS[".csv"]._replace(read=locked))
    assert "may not be read by this user" in call("protect", data, *NUMBERS, "-k", 5, status=2).stderr


def test_disk_full_is_the_machines_fault_and_leaves_no_part(data, monkeypatch):
    def full(table, path):
        path.write_text("half a file")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.FORMATS, ".csv", files.FORMATS[".csv"]._replace(write=full))
    assert "No space left on device" in call("protect", data, *NUMBERS, "-k", 5, status=3).stderr
    assert [p.name for p in data.parent.iterdir()] == ["firms.csv"]


def test_a_release_that_fails_its_check_is_not_published(data, monkeypatch):
    original, csv = shoal.read(data), files.FORMATS[".csv"]
    unprotected = csv._replace(write=lambda table, path: csv.write(original, path))
    monkeypatch.setitem(files.FORMATS, ".csv", unprotected)
    assert "nothing is released" in call("protect", data, "-k", 5, "-c", "profit", status=1).stderr
    assert [p.name for p in data.parent.iterdir()] == ["firms.csv"]


ENDLESS = """
import sys
from shoal.kernels.runtime.jit import kernel
from shoal.grouping.registry import method, methods

@kernel
def spin(stop):
    while stop[0] == 0:
        stop[1] += 1

@method(title="Endless", paper="none", sizes="k..", cost="for ever")
def endless(X, k):
    import numpy as np
    spin(np.array([1, 0]))
    print("grouping", flush=True)
    spin(np.array([0, 0]))

from shoal.cli import main
main()
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_stopped_inside_a_kernel_leaves_nothing(data, tmp_path_factory, number, status):
    script = tmp_path_factory.mktemp("endless") / "endless.py"
    script.write_text(ENDLESS)
    words = [sys.executable, str(script), "protect", str(data), *NUMBERS, "-k", "3", "-m", "endless"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "grouping\n"
        run.send_signal(number)
        try:
            _, errors = run.communicate(timeout=120)
        finally:
            run.kill()  # where the signal was not heard, it would go on for ever
    assert run.returncode == status, errors
    assert "Traceback" not in errors
    assert [p.name for p in data.parent.iterdir()] == ["firms.csv"]


def test_two_reports_cannot_be_one_file(data):
    both = data.with_name("report.html")
    said = call(
        "protect", data, *NUMBERS, "-k", 5, "--report", both, "--public-report", both, status=2
    ).stderr
    assert "cannot be a report and another file too" in said
    assert not both.exists()


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000])
def test_a_setting_that_is_too_deep_or_too_long(data, value):
    said = call("protect", data, *NUMBERS, "-k", 5, "-m", "vmdav", "--set", f"gamma={value}", status=2).stderr
    assert said.startswith("shoal: ")
    assert said.count("\n") == 1


def test_a_k_of_five_thousand_digits(data):
    said = call("protect", data, *NUMBERS, "-k", "9" * 5000, status=2).stderr
    assert "k must be a whole number of at least 1" in said
    assert len(said) < 200


def test_huge_weights_are_one_sentence_and_json_is_json(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{x},{weight}" for x, weight in zip((1.5, 2, 8, 9, 40, 50), ["1e308"] * 6)]
    path.write_text("\n".join(["x,w", *rows]))
    words = ("protect", path, "-k", 2, "-c", "x", "--weight", "w", "-o", tmp_path / "out.csv", "--json")
    said = call(*words, status=2).stderr
    assert said.count("\n") == 1
    assert "above 1e100" in said
    path.write_text("\n".join(["x,w", *rows]).replace("e308", "e100"))

    def refuse(word):
        raise AssertionError(word)

    facts = json.loads(call(*words).stdout, parse_constant=refuse)
    assert facts["information_loss"] > 0
    path.write_text("x\n1\n1\n2\n2\n")
    words = ("protect", path, "-k", 2, "-o", tmp_path / "out.csv", "--bound", "--replace", "--json")
    facts = json.loads(call(*words).stdout, parse_constant=refuse)
    assert facts["gap"] == 0
    assert json_text({"a": [float("nan"), (1.5, float("inf"))]}) == '{"a": [null, [1.5, null]]}'


def test_a_folder_is_guessed_by_its_first_records_and_refused_where_it_must_lie_in_memory(data):
    (folder := data.with_name("firms")).mkdir()
    for name in ("a.parquet", "b.parquet"):
        shoal.write(survey(60), folder / name)
    done = call("inspect", folder)
    assert "120 records were looked at" in done.stdout
    whole, part = (call("plan", path).stdout for path in (folder, folder / "a.parquet"))
    assert whole.splitlines() == [line for line in part.splitlines() if not line.startswith("sha256")]
    done = call("optimum", folder, "-k", 3, status=2)
    assert "'firms' is a folder, for protect, check, bound, measure, compare" in " ".join(done.stderr.split())
