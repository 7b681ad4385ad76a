"""A bar in notebooks: where rich can draw one that moves."""

import sys
from types import SimpleNamespace

import pytest

import shoal
from shoal import pipeline, progress
from shoal.datasets import survey


class ZMQInteractiveShell:
    """Called as the shell of a notebook is."""


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("shell", [ZMQInteractiveShell(), object(), None])
def test_a_notebook_is_one_whose_shell_says_so_and_which_has_widgets(shell, there, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(progress, "find_spec", lambda name: object() if there else None)
    assert progress.in_notebook() == (isinstance(shell, ZMQInteractiveShell) and there)


def test_a_script_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not progress.in_notebook()


def test_in_a_notebook_a_release_is_watched_and_stays_the_same(monkeypatch):
    monkeypatch.setattr(pipeline, "in_notebook", lambda: True)
    watched = shoal.microaggregate(survey(60), 4, method="mdav")
    monkeypatch.undo()
    assert watched.table.equals(shoal.microaggregate(survey(60), 4, method="mdav").table)
