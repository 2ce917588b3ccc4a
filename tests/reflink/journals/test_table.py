"""The table of journals: equal, different and related names, and its files."""

from __future__ import annotations

import math
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
    Journal(names=("Physical review", "Phys Rev")),
    Journal(names=("Physical review. B", "Phys Rev B"), issns=("2469-9950",)),
    Journal(names=("Physical review. D", "Phys Rev D")),
    Journal(names=("FEBS journal", "FEBS J"), former=("European journal of biochemistry",)),
    Journal(names=("European journal of biochemistry", "Eur J Biochem")),
    Journal(names=("Science (New York, N.Y.)", "Science"), issns=("0036-8075",)),
    Journal(names=("Science (Old Town)",)),
)
TABLE = Journals.of(LISTED)


@pytest.mark.parametrize(
    ("name", "venue", "expected"),
    [
        ("JACS", "Journal of the American Chemical Society", 1.0),
        ("J. Am. Chem. Soc.", "JACS", 1.0),
        ("J. Biol. Chem.", "J. Biochem.", 0.0),
        ("Phys. Rev. B", "Phys. Rev. D", 0.0),
        ("Phys. Rev.", "Physical Review B", math.nan),  # a section
        ("Eur. J. Biochem.", "The FEBS Journal", math.nan),  # a former name
        ("Science", "Science (New York, N.Y.)", 1.0),
        ("JACS", "Journal of Unknown Things", math.nan),
        ("Unknown Things", "The unknown things", 1.0),  # equal without the table
        ("JACS", None, math.nan),
        ("", "JACS", math.nan),
    ],
)
def test_names_of_one_journal_and_of_different_journals(name: str, venue: str | None, expected: float):
    assert TABLE.compare(name, venue) == pytest.approx(expected, nan_ok=True)


def test_other_names_and_issns_of_the_work_count():
    assert TABLE.compare("JACS", "An unknown spelling", ("J Am Chem Soc",)) == 1.0
    assert TABLE.compare("JACS", None, (), ("1520-5126",)) == 1.0
    assert TABLE.compare("JACS", "An unknown spelling", (), ("0021-9258",)) == 0.0
    assert Journals.of([]).compare("Blood Tests", "Journal of blood tests", ("Blood tests",)) == 1.0


names = st.sampled_from([name for journal in LISTED for name in journal.names]) | st.text(max_size=20)


@settings(max_examples=examples(200))
@given(names, names)
def test_the_comparison_agrees_with_its_definition(one: str, other: str):
    def numbers(name: str) -> set[int]:
        return {at for at, journal in enumerate(LISTED) if name_key(name) in map(name_key, journal.names)}

    found, related = TABLE.compare(one, other), {(3, 4), (3, 5), (6, 7), (8, 9)}
    mine, theirs = numbers(one), numbers(other)
    if name_key(one) and (name_key(one) == name_key(other) or mine & theirs):
        assert found == 1.0
    elif not mine or not theirs or any(tuple(sorted((a, b))) in related for a in mine for b in theirs):
        assert math.isnan(found)
    else:
        assert found == 0.0


def test_a_saved_table_decides_alike(tmp_path: Path):
    TABLE.save(tmp_path / "journals")
    opened = Journals.open(tmp_path / "journals")
    assert (len(opened), list(opened)) == (len(LISTED), list(LISTED))
    for one in LISTED:
        for other in LISTED:
            pair = one.names[0], other.names[-1]
            assert opened.compare(*pair) == pytest.approx(TABLE.compare(*pair), nan_ok=True)
    assert opened.numbers("J Biol Chem", "0002-7863") == (0, 1)
    assert opened.related(3) == (4, 5)


@pytest.mark.parametrize("missing", ["journals.jsonl", "manifest.json", "related.npy"])
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
