"""The facts of a table and of a release that the page shows."""

import json

import pyarrow as pa
import pytest

pytest.importorskip("nicegui")

import shoal
from shoal.app.facts import release_facts, table_facts
from shoal.datasets import survey
from shoal.frame.frame import Frame
from shoal.io.source import frame_of


def test_facts_of_a_table_are_fit_for_json(mixed):
    facts = json.loads(json.dumps(table_facts(frame_of(mixed))))
    assert facts["records"] == 80
    by_name = {column["name"]: column for column in facts["columns"]}
    assert by_name["firm_id"]["role"] == "identifier"
    assert by_name["wages"]["gaps"] > 0
    assert sum(by_name["wages"]["counts"]) == 80 - by_name["wages"]["gaps"]
    assert sum(by_name["size class"]["counts"]) == 80
    assert by_name["opened"]["range"].startswith("2020-")
    assert len(facts["preview"]) == 8


def test_facts_of_odd_tables():
    odd = pa.table({"none": pa.nulls(5), "same": [1] * 5, "nan": [float("nan")] * 5, "list": [[1]] * 5})
    facts = json.loads(json.dumps(table_facts(Frame(odd)), allow_nan=False))
    assert [column["name"] for column in facts["columns"]] == ["none", "same", "nan", "list"]


def test_a_run_says_what_its_groups_hold_beyond_k():
    release = shoal.microaggregate(survey(60), 4, columns=["turnover", "wages"], diversity={"sector": 2})
    facts = release_facts(release)
    assert facts["run"]["requirements"] == "diversity sector=2"
    assert facts["run"]["information_loss"] == facts["outcome"]["information_loss"]
