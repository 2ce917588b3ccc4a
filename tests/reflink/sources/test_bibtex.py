import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import BadRecord
from reflink.sources.bibtex import Bibtex, Parser, entries, record
from reflink.sources.source import SourceFile
from tests.data import shared_data
from tests.profiles import examples
from tests.reflink.sources.strategies import check

SOURCE = Bibtex()
LIBRARY = r"""
A comment before.
@string{jt = "Journal of Tests"}
@Article{doe2020,
  author = {Doe, Jane and Ludwig van der Berg and {The ABC Group} and G{\"o}del, Kurt and others},
  title  = {On {\em E.~coli} and {$\alpha$}-tests},
  subtitle = {A survey},
  journal = jt, shortjournal = "J. " # "Test.",
  year = 2020, volume = 5, number = {2}, pages = {12--19},
  doi = {10.5555/X\_1}, issn = {1234-5679}, langid = {german},
}
@comment{ignored, @article{inside}}
@book{only-editors, editor = {Ed Itor}, title = "Whole", date = {1999-05}}
@article{broken, title = {No end
@misc(last, title = {Last}, eprint = {1706.03762v2}, archiveprefix = {arXiv})
"""


def read(text: str, tmp_path):
    path = tmp_path / "library.bib"
    path.write_text(text)
    return list(SOURCE.read(SourceFile(path, "library.bib")))


def test_a_library(tmp_path):
    article, book, broken, last = read(LIBRARY, tmp_path)
    assert article.work.to_dict() == {
        "id": "doi:10.5555/x_1", "ids": {"doi": "10.5555/x_1"}, "title": "On E. coli and α-tests: A survey",
        "authors": ["Doe", "van der Berg", "The ABC Group", "Gödel"], "collectives": ["The ABC Group"],
        "venue": "Journal of Tests", "venue_abbreviations": ["J. Test."], "issns": ["1234-5679"], "year": 2020, "volume": "5",
        "issue": "2", "fpage": "12", "lpage": "19", "type": "journal-article", "language": "de",
    }  # fmt: skip
    assert (book.work.authors, book.work.title, book.work.year, book.work.type) == (("Itor",), "Whole", 1999, "book")
    assert book.key.startswith("only-editors~")
    assert str(broken).startswith("library.bib:14: not an entry of BibTeX")
    assert (last.work.id, last.work.title) == ("arxiv:1706.03762", "Last")


def test_entries_begin_at_lines():
    found = list(entries(io.BytesIO(b"x\n@a{k,\n t = {mail me @home{x}}}\n\n  @b{l}\n")))
    assert found == [(2, "@a{k,\n t = {mail me @home{x}}}\n"), (5, "  @b{l}\n")]


@settings(max_examples=examples(200))
@given(st.text('@article{},="#\\ab ()\n%$~&1', max_size=120))
def test_any_text_gives_entries_or_faults(text):
    parser = Parser()
    for _, entry in entries(io.BytesIO(text.encode())):
        try:
            parsed = parser.parse(entry)
        except BadRecord:
            continue
        if parsed:
            check(lambda _, parsed=parsed: record(*parsed), {})


HOSTILE = {
    "braces": "@article{k, title = {" + "{" * 5000 + "}" * 5000 + "}}",
    "backslashes": "@article{k, title = {" + "\\" * 100_000 + "}}",
    "authors": "@article{k, author = {" + " and a" * 30_000 + "}, title={T}}",
    "beginnings": "@article{" * 20_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_entries_take_bounded_time(text, tmp_path):
    assert len(read(text, tmp_path)) == 1


def test_an_entry_without_title_and_identifier_is_bad():
    with pytest.raises(BadRecord, match="neither"):
        record("article", "k", {"volume": "5"})


def test_all_shared_files_are_read():
    folder = shared_data() / "sources" / "csl"
    for file in SOURCE.files([folder]):
        text = file.path.read_text(errors="replace")
        keys = re.findall(r"(?im)^\s*@(?!comment|string|preamble|set|xdata)\w+\s*[{(]\s*([^,\s]*)", text)
        found = list(SOURCE.read(file))
        assert len(found) == len(keys), file.name
        bad = [str(each) for each in found if isinstance(each, BadRecord)]
        assert len(bad) == (file.name == "colrev_ebsco_bib.bib"), bad  # a broken entry


def test_a_key_with_spaces_is_joined():
    assert Parser().parse("@article{Conference paper 22,\n title = {x = {y}, z}\n}") == (
        "article", "Conference_paper_22", {"title": "x = {y}, z"},
    )  # fmt: skip


def test_an_entry_that_breaks_off_before_its_first_field_is_refused():
    with pytest.raises(BadRecord):
        Parser().parse("@article{b, title = \n")
