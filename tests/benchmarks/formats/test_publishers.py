from pathlib import Path

import pytest

from benchmarks.formats.publishers import compared

#: Two records as the Astrophysics Data System writes them; it reads the volume 27A as 27.
RECORDS = """parsed_wiley2 = [{'bibcode': 'x', 'references': [
{'authors': 'Tang, I. N., Munkelwitz, H. R.', 'journal': 'Atmos. Environ.', 'title': 'Composition', 'volume': '27',
 'page': '467', 'year': '1993',
 'refraw': '<citation type="journal" xmlid="c15"><author><familyName>Tang</familyName>, <givenNames>I. N.'
 '</givenNames></author>, <author><givenNames>H. R.</givenNames> <familyName>Munkelwitz</familyName></author>, <articleTitle>'
 'Composition</articleTitle>, <journalTitle>Atmos. Environ.</journalTitle>, <vol>27A</vol>, <pageFirst>467</pageFirst>, '
 '<pubYear year="1993">1993</pubYear>.</citation>'},
{'refstr': 'plain text', 'refraw': 'plain text'}]}]
parsed_text = [{'bibcode': 'y', 'references': [{'refstr': 'plain text', 'refraw': 'plain text'}]}]
computed = dict(a=1)
"""


def test_fields_are_compared_with_those_of_the_data_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "parsed_references.py").write_text(RECORDS)
    assert compared(tmp_path) == {
        "parsed_wiley2": {
            "records": 1, "title stated": 1, "title equal": 1, "journal stated": 1, "journal equal": 1, "volume stated": 1,
            "volume equal": 0, "page stated": 1, "page equal": 1, "year stated": 1, "year equal": 1, "authors stated": 1,
            "authors equal": 1,
        }
    }  # fmt: skip
    assert "'27', ours '27A'" in capsys.readouterr().err
