"""The examples do what they say."""

import json
import runpy
from pathlib import Path

import duckdb
import numpy as np
import pytest
from pandera.errors import SchemaError

from shoal.datasets import survey

SCRIPT = Path(__file__).parents[2] / "examples" / "graph_degrees.py"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("networkx")
    return runpy.run_path(str(SCRIPT))


def test_it_runs_and_prints_its_outcome(example, capsys):
    example["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("Zachary's karate club, 34 vertices, k=2: each degree is shared by at least 2")


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_each_degree_is_shared_by_k_and_the_sum_is_even(example, k):
    rng = np.random.default_rng(k)
    for n in range(2 * k, 40):
        degrees = rng.integers(0, n, n)
        published = example["anonymous_degrees"](degrees, k)
        assert np.unique(published, return_counts=True)[1].min() >= k
        assert published.sum() % 2 == 0
        assert published.min() >= 0
        assert published.max() < n


FOLDER = SCRIPT.parent


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_stands_in_the_gallery(path):
    assert len(path.read_text().splitlines()) < 60
    assert f"examples/{path.name}" in (FOLDER.parent / "docs" / "gallery.md").read_text()


def test_the_scheduled_step_tells_by_its_exit_code_what_a_scheduler_should_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main = runpy.run_path(str(FOLDER / "scheduled_step.py"))["main"]
    assert main([]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["output"], told["records"], told["k"]) == ("firms.safe.csv", 200, 5)
    assert "seed" not in told
    assert main(["nothing.csv", "out.csv"]) == 2
    assert "nothing.csv" in json.loads(capsys.readouterr().out)["error"]
    assert not (tmp_path / "out.csv").exists()


def test_the_pipeline_publishes_combinations_of_k():
    module = runpy.run_path(str(FOLDER / "scikit_learn_pipeline.py"))
    safe, amounts = module["protected"](survey(120).to_pandas(), k=4)
    assert safe.groupby(amounts).size().min() >= 4
    assert list(safe["sector"]) == survey(120)["sector"].to_pylist()


def test_a_schema_that_wants_k_refuses_what_has_less():
    module = runpy.run_path(str(FOLDER / "pandera_schema.py"))
    table = module["FIRMS"].validate(survey(60).to_pandas())
    with pytest.raises(SchemaError, match="at least 5 share"):
        module["safe_schema"](5).validate(table)


def test_a_table_of_duckdb_is_published_shuffled_with_k():
    module = runpy.run_path(str(FOLDER / "duckdb_table.py"))
    connection = duckdb.connect()
    connection.register("firms", survey(200))
    columns = ["turnover", "wages"]
    release = module["protect"](connection, "select turnover, wages from firms", "safe", 5, columns)
    rows = connection.sql("select * from safe").fetchall()
    before = list(zip(*[release.table[name].to_pylist() for name in columns]))
    assert sorted(rows) == sorted(before)
    assert rows != before
