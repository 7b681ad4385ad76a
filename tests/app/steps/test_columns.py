"""Step 2 of the page, column by column."""

import pytest

pytest.importorskip("nicegui")

from shoal.app.steps.columns import FORMS, read_form, write_form
from shoal.errors import InputError
from shoal.plan.rules import KINDS, read_rule
from shoal.plan.values import value_of


def test_the_form_has_every_kind_of_rule_with_its_numbers():
    for field, kinds in KINDS.items():
        forms = FORMS[field][1]
        first = next(iter(kinds))
        counts = {form.before.rstrip(":") or first: len(form.numbers) for form in forms}
        assert counts == {kind: len(limits) for kind, (limits, _) in kinds.items()}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("diversity", [3, "entropy:2", "recursive:2,3", "share:0.5"]),
        ("closeness", [0.2, "beta:1.5", "enhanced_beta:1", "delta:1"]),
        ("dominance", ["1:80", "p:10", "pq:10,50"]),
        ("spread", [0.2, "rel:0.1"]),
        ("top", [5, -2.5, "q0.99"]),
        ("round", [2, "sig:3", "base:5"]),
    ],
)
def test_a_form_reads_and_writes_what_a_plan_has(field, values):
    for place, value in enumerate(values):
        at, numbers = read_form(field, value)
        written = write_form(FORMS[field][1][at], numbers)
        assert written == value
        if field in KINDS:
            assert at == place
            read_rule(field, "x", written)
        else:
            assert value_of(field, {"x": written}) == {"x": value}


def test_a_missing_number_is_the_plans_error():
    with pytest.raises(InputError, match="recursive:C,L"):
        read_rule("diversity", "x", write_form(FORMS["diversity"][1][2], [2, None]))
