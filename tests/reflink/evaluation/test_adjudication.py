"""A person's verdicts: their file, which of them counts, and the figures that they change."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import BadRecord
from reflink.evaluation.adjudication import VERDICTS, Judgement, Judgements, counted, parsed, read, write
from reflink.evaluation.records import lines
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.evaluation.outcomes import outcome

ERROR = replace(outcome("v"), truth="w")
LABEL = Judgement("r", "w", "v", "label", "2026-11-24")

names = st.text(min_size=1, max_size=8)
judgements = st.builds(
    Judgement, names, names, names | st.none(), st.sampled_from([*VERDICTS]), st.just("2026-11-24"), st.text()
)


@given(st.lists(judgements, max_size=6))
@settings(max_examples=examples(40))
def test_a_file_has_the_verdicts_that_were_written(tmp_path_factory: pytest.TempPathFactory, given_: list[Judgement]) -> None:
    path = tmp_path_factory.mktemp("read") / "verdicts.jsonl"
    assert read(path) == []
    write(path, given_)
    assert read(path) == given_


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 2"),
        ('{"rid": "r"}', "line 2"),
        ('{"rid": "r", "truth": "w", "chosen": null, "verdict": "maybe", "date": "x"}', "unknown verdict 'maybe'"),
    ],
)
def test_an_invalid_line_is_reported_by_its_number(line: str, why: str) -> None:
    with pytest.raises(BadRecord, match=why):
        parsed(f"\n{line}\n".encode(), "verdicts.jsonl")


def test_the_last_verdict_on_an_error_counts_and_another_error_is_open() -> None:
    known = Judgements([LABEL, replace(LABEL, verdict="linker")])
    assert known.of("r", "w", "v") == replace(LABEL, verdict="linker")
    assert known.of("r", "w", "x") is None
    assert known.of("r", "x", "v") is None


def test_a_wrong_label_is_suspect_whatever_was_chosen_until_a_verdict_rejects_it() -> None:
    known = Judgements([LABEL])
    right = replace(outcome("w", right=True), truth="w")
    for each in (ERROR, replace(outcome("x"), truth="w"), right):
        assert (known.applied(each).suspect or "").startswith("read by a person")
    assert known.applied(replace(ERROR, truth="x")).suspect is None
    assert known.applied(ERROR).verdict == "label"
    assert known.applied(right).verdict is None, "no error"
    later = Judgements([LABEL, replace(LABEL, chosen="x", verdict="linker")])
    assert later.applied(replace(ERROR, suspect="a rule")).suspect is None, "a reader outranks the rule"
    version = Judgements([replace(LABEL, verdict="version")])
    assert version.applied(replace(ERROR, suspect="a rule")).suspect == "a rule"


def test_errors_are_counted_by_verdict() -> None:
    right = replace(outcome("w", right=True), truth="w")
    outcomes = [replace(ERROR, verdict=verdict) for verdict in ("label", "linker", "linker", "unclear", None)] + [right] * 5
    found = counted(outcomes)
    assert {name: found[name] for name in (*VERDICTS, "unread")} == {
        "label": 1, "linker": 2, "version": 0, "unclear": 1, "unread": 1,
    }  # fmt: skip
    assert (found["own"], found["own_at_most"]) == (0.2, 0.4)
    assert found["own_interval"][0] <= 0.2 <= found["own_interval"][1]
    assert counted([])["own"] == 0.0


def test_the_package_has_verdicts_without_texts() -> None:
    """Identifiers, a verdict, a date and a short note: the texts of the records belong to others."""
    data = resources.files("reflink.evaluation").joinpath("adjudicated.jsonl").read_bytes()
    found = parsed(data, "adjudicated.jsonl")
    assert len({each.key for each in found}) == len(found) > 20
    for each in found:
        assert len(each.note) < 120
        assert json.dumps(each.to_dict()).isascii()


def test_the_packages_verdicts_are_on_the_data() -> None:
    data = shared_data()
    rids = {line["rid"] for _, line in lines(data / "references_dev.jsonl.gz")}
    rids |= {f"{line['citing']}#{line['n']}" for _, line in lines(data / "pubmed" / "references_dev.jsonl.gz")}
    shipped = Judgements.known()
    for each in parsed(resources.files("reflink.evaluation").joinpath("adjudicated.jsonl").read_bytes(), "x"):
        assert each.rid in rids
        assert shipped.of(*each.key) == each
