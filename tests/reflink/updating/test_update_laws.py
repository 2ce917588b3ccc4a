"""Laws of updates: neither the order of files nor the number of updates matters, and the changes lead to the works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.merging import Rules
from reflink.updating import Input, State, export, pending, published, update
from tests.reflink.updating.sources import Lines, Others, write

TITLES = ("A study of one thing", "An entirely different subject", "Something else again")


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A record among few keys and identifiers, so that records meet."""
    key = f"k{draw(st.integers(0, 4))}"
    if draw(st.integers(0, 5)) == 0:
        return {"key": key, "withdrawn": True}
    record: dict[str, Any] = {"key": key, "title": draw(st.sampled_from(TITLES)), "partial": draw(st.integers(0, 5)) == 0}
    if draw(st.booleans()):
        record |= {"authors": ["Doe", "Roe"], "year": draw(st.sampled_from([1999, 2000]))}
    for kind, value in (("doi", "10.1000/d"), ("pmid", "1"), ("pmcid", "PMC10")):
        if draw(st.booleans()):
            record[kind] = f"{value}{draw(st.integers(0, 2))}"
    return record


FILES = st.lists(st.tuples(st.booleans(), st.lists(records(), max_size=4)), min_size=1, max_size=5)


def works_of(state: State) -> dict[str, bytes]:
    return {json.loads(line)["id"]: line for line in export(state)}


@pytest.mark.parametrize("rules", [Rules(), Rules(compare=True, min_probability=0.6)], ids=["identifiers", "compared"])
@given(FILES, st.randoms(use_true_random=False))
def test_any_order_and_number_of_updates_gives_the_same_works(
    rules: Rules, tmp_path_factory: Any, files: list[tuple[bool, list[dict[str, Any]]]], random: Any
):
    folder: Path = tmp_path_factory.mktemp("laws")
    paths = [
        (Others() if other else Lines(), write(folder / f"{number}.jsonl", *lines))
        for number, (other, lines) in enumerate(files)
    ]
    with State(folder / "whole") as state:
        update(state, [Input(source, (path,)) for source, path in paths], rules=rules)
        expected = works_of(state)
    random.shuffle(paths)
    seen: dict[str, bytes] = {}
    with State(folder / "steps") as state:
        for source, path in paths:
            update(state, [Input(source, (path,))], rules=rules)
            if random.random() < 0.7:
                changes = list(pending(state))
                for name, value in changes:
                    if value is None:
                        seen.pop(name, None)
                    else:
                        seen[name] = value
                published(state, changes)
        assert works_of(state) == expected
        for name, value in pending(state):
            if value is None:
                seen.pop(name, None)
            else:
                seen[name] = value
        assert seen == expected
        update(state, [Input(source, (path,)) for source, path in paths], rules=rules)
        assert works_of(state) == expected
