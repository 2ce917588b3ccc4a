from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Reference, Work
from reflink.evaluation.rivals.rule import year_of
from reflink.evaluation.rivals.siamese.texts import (
    BUCKETS,
    LONGEST,
    SEPARATOR,
    Vocabulary,
    citation_tokens,
    extracted_names,
    metadata_tokens,
)

WORK = Work(id="w", title="Iron uptake", authors=("de Souza", "Wu"), year=2001, venue="Plant Cell")
NAMES = st.sampled_from(["Li", "Müller", "de Souza", "O'Neil", "van der Berg", "Wu-Chen", "Ngo"])


def reference(raw: str, *names: str, year: int | None = None) -> Reference:
    return Reference(id="r", citing="c", position=1, raw_text=raw, last_names=names, year=year)


def test_the_metadata_are_the_fields_of_the_paper_in_order():
    kept = metadata_tokens(WORK, authors=True)
    assert kept == ["iron", "uptake", SEPARATOR, "de", "souza", "wu", SEPARATOR, "2001", SEPARATOR, "plant", "cell"]
    assert metadata_tokens(WORK, authors=False) == [word for word in kept if word not in ("de", "souza", "wu")]
    assert metadata_tokens(Work(id="w"), authors=True) == [SEPARATOR] * 3


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_without_authors_no_matched_author_is_left(names: list[str]):
    cited = reference(f"{', '.join(names)} (1999) Uptake of iron. Rice 3:1", *names)
    work = Work(id="w", title="Uptake of iron", authors=tuple(names), year=1999)
    extracted = extracted_names(cited)
    words = {word for name in extracted for word in name.split()}
    assert words
    assert words <= set(citation_tokens(cited))
    for tokens in (citation_tokens(cited, extracted), metadata_tokens(work, authors=False)):
        assert words.isdisjoint(tokens)
        assert {"uptake", "of", "iron", "1999"} <= set(tokens)


def test_authors_and_year_of_an_untagged_citation_come_from_its_text():
    raw = "Livak KJ, Schmittgen TD. Analysis of relative gene expression data. Methods. 2001;25(4):402-408."
    cited = reference(raw)
    assert extracted_names(cited) == {"livak", "schmittgen"}
    assert year_of(cited) == 2001
    assert extracted_names(reference(raw, "Livak")) == {"livak"}
    assert year_of(reference(raw, year=1999)) == 1999
    assert (extracted_names(reference("")), year_of(reference(""))) == (frozenset(), None)


def test_a_word_has_one_number_in_both_texts():
    vocabulary = Vocabulary.of([["iron"] * 3, ["rice", "iron", SEPARATOR, SEPARATOR, SEPARATOR]])
    assert vocabulary.words == ("iron",)
    separator, iron, rare, again = vocabulary.numbers([SEPARATOR, "iron", "rice", "rice"])
    assert (separator, iron) == (2, 3)
    assert rare == again
    assert 4 <= rare < len(vocabulary) == 4 + BUCKETS
    assert vocabulary.numbers([]) == [1]
    assert len(vocabulary.numbers(["iron"] * 100)) == LONGEST
