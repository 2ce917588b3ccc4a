"""The table of journals: equal, different and related names, and its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import ReflinkError, UnusableSnapshot
from reflink.journals.names import name_key
from reflink.journals.table import Journal, Journals, read_journals
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


@settings(max_examples=examples(200))
@given(names, names)
def test_the_comparison_agrees_with_its_definition(one: str, other: str):
    def numbers(name: str) -> set[int]:
        return {at for at, journal in enumerate(LISTED) if name_key(name) in map(name_key, journal.names)}

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


@pytest.mark.parametrize(("line", "fault"), [("[]", "not a JSON object"), ("{", "not JSON"), ('{"issns": []}', "names")])
def test_a_bad_line_is_named(tmp_path: Path, line: str, fault: str):
    path = tmp_path / "journals.jsonl"
    path.write_text(f'{{"names": ["A"]}}\n\n{line}\n')
    with pytest.raises(ReflinkError, match=rf"journals.jsonl:3: .*{fault}"):
        list(read_journals(path))
