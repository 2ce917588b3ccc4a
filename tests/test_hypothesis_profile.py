"""The profile of Hypothesis applies to every test: no deadline, and the same examples in every run."""

from __future__ import annotations

from hypothesis import settings

#: Created when the module is imported, like the settings of other tests.
LAW = settings(max_examples=7)


def test_no_example_has_a_deadline():
    assert LAW.deadline is None
    assert settings().deadline is None


def test_every_run_has_the_same_examples():
    assert LAW.derandomize
