import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import BadRecord
from reflink.sources.ris import Ris, fielded, record
from reflink.sources.source import SourceFile
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check

SOURCE = Ris()
ARTICLE = """TY  - JOUR
ID  - doe 2020
T1  - On tests
TT  - Über Tests
AU  - Doe, Jane
AU  - van der Berg, L.
AU  - The ABC Consortium
JF  - Journal of Tests
JA  - J. Test.
PY  - 2020/01/02/
VL  - 5
IS  - 2
SP  - 1013
EP  - 19
SN  - 1234-5679 (Print)
UR  - https://doi.org/10.5555/X
LA  - German
ER  -
"""
MEDLINE = """
PMID- 123
TI  - On tests with a title
      of two lines.
FAU - Doe, Jane
CN  - The ABC Group
JT  - Journal of tests
TA  - J Test
IS  - 1234-5679 (Print)
DP  - 2020 Jan
DEP - 20191231
VI  - 5
IP  - 2
PG  - 1013-9
LID - 10.5555/x [doi]
PMC - PMC77123
LA  - ger
PT  - Journal Article
PT  - Retracted Publication

PMID- 124
TI  - Another
"""


def parsed(text: str | bytes):
    return [fields for _, fields in fielded(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "f")]


def read(text: str | bytes):
    return [each if isinstance(each, BadRecord) else record(each) for each in parsed(text)]


def test_an_article():
    (found,) = read(ARTICLE)
    assert found.key == "10.5555/x"
    assert found.work.to_dict() == {
        "id": "doi:10.5555/x", "ids": {"doi": "10.5555/x"}, "title": "On tests", "translated_titles": ["Über Tests"],
        "authors": ["Doe", "van der Berg", "The ABC Consortium"], "collectives": ["The ABC Consortium"],
        "venue": "Journal of Tests", "venue_abbreviations": ["J. Test."], "issns": ["1234-5679"], "year": 2020, "volume": "5",
        "issue": "2", "fpage": "1013", "lpage": "1019", "type": "journal-article", "language": "de",
    }  # fmt: skip


def test_medline_text():
    first, second = read(MEDLINE)
    assert first.work.to_dict() == {
        "id": "doi:10.5555/x", "ids": {"doi": "10.5555/x", "pmid": "123", "pmcid": "PMC77123"},
        "title": "On tests with a title of two lines.", "authors": ["Doe", "The ABC Group"], "collectives": ["The ABC Group"],
        "venue": "Journal of tests", "venue_abbreviations": ["J Test"], "issns": ["1234-5679"], "year": 2020,
        "online_year": 2019, "volume": "5", "issue": "2", "fpage": "1013", "lpage": "1019",
        "type": "journal-article", "language": "de", "status": "retracted",
    }  # fmt: skip
    assert (second.key, second.work.title) == ("pmid:124", "Another")


def test_records_without_their_end_mark_are_separated_and_text_around_is_ignored():
    text = "Export of a database\n\nTY  - JOUR\nT1  - One\nTY  - BOOK\nBT  - Two\nER  -\ntrailer\nTY - CHAP\nTI - Three"
    assert [each.work.title for each in read(text)] == ["One", "Two", "Three"]


def test_old_encodings_and_byte_order_marks():
    assert read("TY  - JOUR\nT1  - Größe\nER  -\n".encode("cp1252"))[0].work.title == "Größe"
    assert read("\ufeffTY  - JOUR\nT1  - One\nER  -\n")[0].work.title == "One"


def test_bad_records_cost_only_themselves(tmp_path):
    path = tmp_path / "x.ris"
    path.write_text("TY  - JOUR\nVL  - 5\nER  -\nTY  - JOUR\nT1  - One\nER  -\n")
    bad, good = SOURCE.read(SourceFile(path, "x.ris"))
    assert str(bad) == "x.ris:1: neither an identifier nor a title"
    assert good.work.title == "One"
    path.write_text("PT J\nAU Doe\n")
    (bad,) = SOURCE.read(SourceFile(path, "x.ris"))
    assert str(bad) == "x.ris: no record"


def test_a_value_of_very_many_lines_takes_bounded_time():
    (found,) = read("TY  - JOUR\nT1  - T\n" + "xxxxxxxxx\n" * 1_000_000)
    assert found.work.title.startswith("T xxx")


@settings(max_examples=examples(300))
@given(st.text("TYERAUPMIDSN0123456789 -\n\u00e4/xK", max_size=300) | st.binary(max_size=200))
def test_any_text_gives_records_or_faults(text):
    for fields in parsed(text):
        if not isinstance(fields, BadRecord):
            check(lambda _, fields=fields: record(fields), {})


def test_every_value_of_every_tag_gives_a_record_or_is_bad():
    tags = (
        "TY T1 TI BT AU A1 A2 ED JF JO T2 JA SP EP PY VL IS SN DO UR M3 C7 C2 LA ID AN TT PMID JT FAU CN PG DP DEP LID PMC PT"
    )
    for tag in tags.split():
        for value in ("", "-", "x", "10.5555/x", "(", "\x00", "9" * 5000, "PMC7", "a, b, c, d"):
            check(record, {"TY": ["JOUR"], "T1": ["T"], tag: [value]})
            check(record, {"PMID": ["1"], tag: [value]})


def test_all_shared_files_are_read():
    folder = shared_data() / "sources" / "csl"
    for file in SOURCE.files([folder]):
        count = max(1, len(re.findall(rb"(?m)^(?:\xef\xbb\xbf)?\s*TY\s+-", file.path.read_bytes())))
        assert len(list(SOURCE.read(file))) == count, file.name
    (file,) = SOURCE.files([folder / "crossref.ris"])
    (found,) = SOURCE.read(file)
    assert found.key == "10.7554/elife.01567"


@pytest.mark.parametrize("name", ["x.txt", "x.bib"])
def test_other_files_are_ignored(tmp_path, name):
    (tmp_path / name).write_text(ARTICLE)
    (tmp_path / "y.ris.gz").write_text(ARTICLE)
    assert [file.name for file in SOURCE.files([tmp_path])] == ["y.ris.gz"]
