"""Lists of journals in the formats of NLM and Crossref, and as JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.errors import BadRecord
from reflink.journals.lists import read_list
from reflink.journals.table import Journal

EXAMPLES = Journal(names=("Journal of Examples", "J Ex"), issns=("1234-5679", "2345-678X"))
LINE = "-" * 56
NLM = f"""{LINE}
JrId: 1
JournalTitle: Journal of Examples
MedAbbr: J Ex
ISSN (Print): 1234-5679
ISSN (Online): 2345-678X
IsoAbbr: J Ex
NlmId: 0000001
{LINE}
JrId: 2
JournalTitle: Annals: of Proof
MedAbbr:
ISSN (Print):
{LINE}
"""
CROSSREF = """\ufeff"JournalTitle","JournalID","Publisher","pissn","eissn","additionalIssns","doi","(year1)[volume1]issue1"
"Journal of Examples",1,"A Press","12345679","2345678X","","10.5555/1","(2001)[1]1"
"Annals, of Proof",2,"A Press","","","3456-7890, 4567-8901","",""
"",3,"No Name","","","","",""
"""


def test_the_list_of_nlm(tmp_path: Path):
    (path := tmp_path / "J_Medline.txt").write_text(NLM)
    assert list(read_list(path)) == [EXAMPLES, Journal(names=("Annals: of Proof",))]


def test_the_list_of_crossref(tmp_path: Path):
    (path := tmp_path / "titles.csv").write_text(CROSSREF)
    assert list(read_list(path)) == [
        Journal(names=("Journal of Examples",), issns=EXAMPLES.issns),
        Journal(names=("Annals, of Proof",), issns=("3456-7890", "4567-8901")),
    ]


def test_json_lines(tmp_path: Path):
    (path := tmp_path / "own.jsonl").write_bytes(EXAMPLES.to_json() + b"\n")
    assert list(read_list(path)) == [EXAMPLES]


@pytest.mark.parametrize("before", ["\ufeff", "\n", "\r\n \n", " ", "\ufeff\n  "])
def test_json_lines_after_a_byte_order_mark_blank_lines_or_spaces(tmp_path: Path, before: str):
    (path := tmp_path / "own.jsonl").write_bytes(before.encode() + EXAMPLES.to_json() + b"\n\n" + EXAMPLES.to_json())
    assert list(read_list(path)) == [EXAMPLES, EXAMPLES]


def test_json_lines_without_names_are_left_out(tmp_path: Path):
    (path := tmp_path / "own.jsonl").write_bytes(
        b'{"names": [], "issns": ["1234-5679"]}\n{"names": [""]}\n' + EXAMPLES.to_json()
    )
    assert list(read_list(path)) == [EXAMPLES]


@pytest.mark.parametrize(("line", "fault"), [("[]", "Journal: "), ("{", "Invalid JSON"), ('{"issns": []}', "names")])
def test_an_invalid_line_is_named(tmp_path: Path, line: str, fault: str):
    (path := tmp_path / "own.jsonl").write_text(f'\n{{"names": ["A"]}}\n\n{line}\n')
    with pytest.raises(BadRecord, match=rf"own.jsonl:4: .*{fault}"):
        list(read_list(path))


@pytest.mark.parametrize("content", [b"", b"title,issn\n", b"\xff\xfe\x00bad", b"<html>"])
def test_other_files_are_refused(tmp_path: Path, content: bytes):
    (path := tmp_path / "list").write_bytes(content)
    with pytest.raises(BadRecord, match="list: "):
        list(read_list(path))
