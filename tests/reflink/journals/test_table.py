"""The table of journals: equal, different and related names, and its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import UnusableSnapshot
from reflink.journals.names import name_key, other_keys
from reflink.journals.table import Journal, Journals
from tests.profiles import examples

LISTED = (
    Journal(names=("Journal of the American Chemical Society", "J Am Chem Soc", "JACS"), issns=("0002-7863", "1520-5126")),
    Journal(names=("The Journal of biological chemistry", "J Biol Chem"), issns=("0021-9258",)),
    Journal(names=("Journal of biochemistry", "J Biochem"), issns=("0021-924X",)),
    Journal(names=("FEBS journal", "FEBS J", "European journal of biochemistry")),
    Journal(names=("Science (New York, N.Y.)", "Science"), issns=("0036-8075",)),
    Journal(names=("Science (Old Town)",)),
)
TABLE = Journals.of(LISTED)


@pytest.mark.parametrize(
    ("name", "venue", "expected"),
    [
        ("JACS", "Journal of the American Chemical Society", True),
        ("J. Am. Chem. Soc.", "JACS", True),
        ("J. Biol. Chem.", "J. Biochem.", False),
        ("European Journal of Biochemistry", "The FEBS Journal", True),  # a former name
        ("Science", "Science (New York, N.Y.)", True),
        ("Science", "Science (Old Town)", False),
        ("JACS", "Journal of Unknown Things", False),
        ("Unknown Things", "The unknown things", True),  # equal without the table
        ("JACS", None, False),
        ("", "JACS", False),
        ("", "", False),
    ],
)
def test_names_of_one_journal(name: str, venue: str | None, expected: bool):
    assert TABLE.are_one(name, venue) is expected


def test_other_names_and_issns_of_the_work_count():
    assert TABLE.are_one("JACS", "An unknown spelling", ("J Am Chem Soc",))
    assert TABLE.are_one("JACS", None, (), ("1520-5126",))
    assert not TABLE.are_one("JACS", "An unknown spelling", (), ("0021-9258",))
    assert Journals.of([]).are_one("Blood Tests", "Journal of blood tests", ("Blood tests",))


names = st.sampled_from([name for journal in LISTED for name in journal.names]) | st.text(max_size=20)
names = st.tuples(names, st.sampled_from(["", "", " (x)", " : a subtitle", "; other"])).map("".join)


@settings(max_examples=examples(200))
@given(names, names)
def test_the_comparison_agrees_with_its_definition(one: str, other: str):
    keys = [set(map(name_key, journal.names)) for journal in LISTED]
    taken = set().union(*keys)
    for own, journal in zip(keys, LISTED, strict=True):
        own |= {key for name in journal.names for key in other_keys(name)} - taken

    def numbers(name: str) -> set[int]:
        found = ({at for at, own in enumerate(keys) if key in own} for key in (name_key(name), *other_keys(name)))
        return next(filter(None, found), set())

    equal = name_key(one) != "" and (name_key(one) == name_key(other) or bool(numbers(one) & numbers(other)))
    assert TABLE.are_one(one, other) is equal


def test_a_saved_table_decides_alike(tmp_path: Path):
    TABLE.save(tmp_path / "journals")
    opened = Journals.open(tmp_path / "journals")
    assert (len(opened), list(opened)) == (len(LISTED), list(LISTED))
    for one in LISTED:
        for other in LISTED:
            pair = one.names[0], other.names[-1]
            assert opened.are_one(*pair) is TABLE.are_one(*pair)
    assert opened.numbers("J Biol Chem", "0002-7863") == (0, 1)


@pytest.mark.parametrize("missing", ["journals.jsonl", "manifest.json", "hashes.npy"])
def test_a_damaged_table_is_refused(tmp_path: Path, missing: str):
    TABLE.save(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(UnusableSnapshot, match=missing):
        Journals.open(tmp_path)


def test_an_open_table_keeps_its_journals_when_another_replaces_it(tmp_path: Path):
    TABLE.save(tmp_path)
    opened = Journals.open(tmp_path)
    Journals.of([Journal(names=("Annals of Proof",))]).save(tmp_path)
    assert (len(opened), list(opened)) == (len(LISTED), list(LISTED))
    opened.save(tmp_path / "copy")
    assert list(Journals.open(tmp_path / "copy")) == list(LISTED)


def test_a_table_with_the_journals_of_another_is_refused(tmp_path: Path):
    TABLE.save(tmp_path)
    Journals.of(LISTED[:2]).write(tmp_path / "journals.jsonl")
    with pytest.raises(UnusableSnapshot, match="2 journals, not 6"):
        Journals.open(tmp_path)


def test_an_empty_table_is_saved_and_opened(tmp_path: Path):
    Journals.of([]).save(tmp_path)
    assert list(Journals.open(tmp_path)) == []


def test_a_broken_name_takes_little_time_and_memory():
    assert not TABLE.are_one("JACS", " " * 1_000_000 + ": x")
    assert not TABLE.are_one("x" * 1_000_000, "JACS")
