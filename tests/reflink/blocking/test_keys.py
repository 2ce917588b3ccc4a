"""Blocking keys: a reference shares a key with its work in any typesetting, and with few other works."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reflink.blocking.keys import MAX_KEYS, RULES, fingerprints, hashed, reference_keys, title_words, work_key, work_keys
from reflink.entities import Ids, Inferred, Reference, Work

anything = st.text(max_size=80)
latin = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x17F, exclude_categories=("Cs",)), max_size=60)
words = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=9), min_size=1, max_size=15)
years = st.none() | st.integers(-10, 3000)
ids = st.builds(
    Ids,
    doi=st.none() | st.just("10.1/x"),
    pmid=st.none() | st.just("17"),
    pmcid=st.none() | st.just("PMC17"),
    arxiv=st.none() | st.just("1701.00001"),
)
works = st.builds(
    Work,
    id=anything.map("local:".__add__),
    ids=ids,
    title=st.none() | anything | words.map(" ".join),
    authors=st.lists(anything, max_size=3).map(tuple),
    venue=st.none() | anything,
    year=years,
    volume=st.none() | st.integers(0, 99).map(str) | anything,
    fpage=st.none() | st.integers(0, 999).map(str) | anything,
)


def reference(**fields: Any) -> Reference:
    return Reference(id="r", citing="c", position=1, **fields)


def citing(work: Work) -> Reference:
    """Return a reference with the fields of the work."""
    return reference(
        ids=work.ids, title=work.title, last_names=work.authors, venue=work.venue, year=work.year, volume=work.volume,
        first_page=work.fpage,
    )  # fmt: skip


def titled(title: str, **fields: Any) -> tuple[str, ...]:
    return reference_keys(reference(title=title, **fields))


def meet(cited: Reference, work: Work) -> bool:
    return not set(reference_keys(cited)).isdisjoint(work_keys(work))


TROTT = Work(
    id="doi:10.1002/jcc.21334",
    ids=Ids(doi="10.1002/jcc.21334", pmid="19499576"),
    title="AutoDock Vina: Improving the speed and accuracy of docking with a new scoring function",
    authors=("Trott", "Olson"),
    venue="J Comput Chem",
    year=2010,
    volume="31",
    fpage="455",
)

# Laws


@given(works)
def test_a_reference_with_the_fields_of_a_work_shares_a_key_with_it(work: Work) -> None:
    assume(work.title or not work.volume)  # without a title, a venue with a volume is a journal to one and a book to the other
    offered = [key for key in work_keys(work) if not key.startswith(("f:", "y:", "d:"))]
    assert meet(citing(work), work) or not offered


@given(works, ids)
def test_a_shared_identifier_is_a_shared_key(work: Work, weak: Ids) -> None:
    for cited in (reference(ids=weak), reference(ids_weak=weak), citing(work).model_copy(update={"ids_weak": weak})):
        common = {*cited.ids.keys(), *cited.ids_weak.keys()} & {*work.ids.keys()}
        assert common <= {*reference_keys(cited)} & {*work_keys(work)}


@given(works, anything, st.none() | st.builds(Inferred, title=st.none() | anything, year=years, last_names=st.tuples(anything)))
def test_keys_are_bounded_in_number_and_deterministic(work: Work, raw: str, inferred: Inferred | None) -> None:
    cited = citing(work).model_copy(update={"raw_text": raw, "inferred": inferred, "chapter_title": raw, "collab": raw})
    for make, record in ((work_keys, work), (reference_keys, cited)):
        keys = make(record)
        assert keys == make(record.model_copy())
        assert len({*keys}) == len(keys) <= MAX_KEYS
        assert all(len(hashed(key)) == 8 for key in keys)
        assert not any(key.startswith("w:") for key in keys)


@given(words, years)
def test_keys_ignore_case_spacing_punctuation_and_accents_of_a_title(title: list[str], year: int | None) -> None:
    assume(title[0] not in ("a", "an", "the"))  # only one leading article is left out
    plain = titled(" ".join(title), last_names=("Li",), year=year)
    assert plain == titled("  " + " - ".join(title).upper() + ".", last_names=("LI",), year=year)
    assert plain == titled("The " + ": ".join(title), last_names=("Lì",), year=year)
    assert plain == titled(" ".join(title).replace("e", "é").replace("u", "u\u0308"), last_names=("Li",), year=year)


@given(latin)
def test_keys_ignore_the_unicode_form_of_accents(title: str) -> None:
    forms = {titled(unicodedata.normalize(form, title), last_names=("Li",), year=2000) for form in ("NFC", "NFD")}
    assert len(forms) == 1


@given(words, words, words)
def test_texts_with_a_long_common_passage_share_a_fingerprint(before: list[str], common: list[str], after: list[str]) -> None:
    telling = [word for word in common if len(word) >= 4]
    chosen = {*fingerprints(common)}
    assert len(telling) < 5 or chosen & {*fingerprints([*before, *common, *after])}
    assert all(run in " ".join(telling) for run in chosen)


@pytest.mark.parametrize(
    "long", ["x" * 100_000, "word " * 60_000, "&amp;<i>" * 20_000, "(1): 2, " * 30_000, "\ud800é" * 30_000]
)
def test_keys_of_very_long_fields_are_bounded(long: str) -> None:
    work = Work(id=long, title=long, authors=(long,), venue=long, year=2000, volume=long, fpage=long)
    cited = citing(work).model_copy(update={"raw_text": long, "title": None, "collab": long, "translated_title": long})
    for keys in (work_keys(work), reference_keys(cited)):
        assert len(keys) <= MAX_KEYS
        assert all(len(key) < 2000 for key in keys)


# Real citations


@pytest.mark.parametrize(
    "fields",
    [
        {"ids": Ids(pmid="19499576")},
        {"ids_weak": Ids(doi="10.1002/jcc.21334")},
        {"title": "AUTODOCK VINA: improving the speed & accuracy of docking with a new scoring."},
        {"title": "AutoDock Vina", "last_names": ("Trott",), "year": 2009, "volume": "31", "first_page": "455-61"},
        {"title": "Autodock vina; improvng the speed", "last_names": ("Trott",), "first_page": "455", "year": 2010},
        {"title": "AutoDock <i>Vina</i>: Improving the speed and accuracy of docking with a new scoring function"},
        {"last_names": ("Trott", "Olson"), "venue": "J. Comput. Chem.", "year": 2010, "volume": "31", "first_page": "455"},
        {"year": 2010, "volume": "31", "first_page": "455"},
        {"title": "Docking with a new scoring function", "last_names": ("Trott",), "year": 2010},
        {"chapter_title": "AutoDock Vina: Improving the speed and accuracy of docking with"},
        {"title": "Verbesserung …", "translated_title": "AutoDock Vina: Improving the speed and accuracy of docking with"},
        {"inferred": Inferred(last_names=("Trott",), year=2010, volume="31", first_page="455")},
        {"raw_text": "12. O. Trott, A. J. Olson, J. Comput. Chem. 2010, 31, 455."},
        {"raw_text": "Trott O, Olson AJ. AutoDock Vina: improving the speed and accuracy of docking, 2010"},
        {"raw_text": "Trott O Olson A 2010 Autodock Vina improving speed and accuracy of docking with a new scoring"},
    ],
)  # fmt: skip
def test_a_citation_shares_a_key_with_its_work(fields: dict[str, Any]) -> None:
    assert meet(reference(**fields), TROTT)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"last_names": ("Trott",), "year": 2010},
        {"title": "Docking", "last_names": ("Trott",), "year": 2010},
        {"title": "AutoDock Vina"},
        {"title": "A new place", "last_names": ("Li",), "year": 2010, "volume": "31", "first_page": "455"},
        {"raw_text": "Improving the accuracy of something else, J. Comput. Chem. 2010"},
        {"raw_text": "Trott O, Olson AJ. AutoDock Vina: improving the speed and accuracy of docking, 1999"},
    ],
)
def test_a_citation_without_selective_fields_shares_no_key(fields: dict[str, Any]) -> None:
    assert not meet(reference(**fields), TROTT)


@pytest.mark.parametrize(
    ("title", "fields", "found"),
    [
        ("Editorial", {"last_names": ("Smith",)}, True),
        ("Editorial", {"year": 2003}, True),
        ("Editorial", {}, False),
        ("Editorial", {"last_names": ("Jones",), "year": 2003}, False),
        ("Fungi and food spoilage", {}, False),
    ],
)
def test_a_short_title_is_a_key_only_with_an_author_or_a_year(title: str, fields: dict[str, Any], found: bool) -> None:
    assert meet(reference(title=title, **fields), Work(id="w", title="Editorial.", authors=("Smith",), year=2003)) == found


def test_a_book_title_tagged_as_the_venue_is_a_key() -> None:
    book = Work(id="w", authors=("Pitt", "Hocking"), venue="Fungi and Food Spoilage", year=2009, fpage="519")
    assert meet(reference(last_names=("Pitt", "Hocking"), venue="Fungi and food spoilage.", year=2009), book)
    assert meet(reference(last_names=("Pitt",), title="Yeasts, in", venue="Fungi & food spoilage"), book)
    # A venue with a volume is a journal.
    assert not meet(reference(last_names=("Pitt",), venue="Fungi and food spoilage", volume="3"), book)


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        (("The α‐helix", "&alpha;-Helix", "<b>alpha</b> helix", "An alpha helix, in"), "alpha helix"),
        (("Gas &amp; oil", "gas and oil", "Gas & Oil"), "gas oil"),
        (("p < 0.05 > q",), "p 0 05 q"),
        (("The", "the."), "the"),
        (("", "–", "<i></i>"), ""),
    ],
)
def test_titles_are_folded(spellings: tuple[str, ...], expected: str) -> None:
    assert {spelling: " ".join(title_words(spelling)) for spelling in spellings} == dict.fromkeys(spellings, expected)


def test_titles_in_other_scripts_need_fewer_letters() -> None:
    assert titled("水稻抗旱性研究进展") == ("t:水稻抗旱性研究进展",)
    assert titled("研究") == ()


def test_a_translated_title_has_keys():
    titles = ("Die pineale klier as endokriene orgaan",)
    work = Work(id="x", title="The pineal body", translated_titles=titles, authors=("Müller",), year=1979)
    assert meet(reference(title=titles[0], year=1979), work)
    assert meet(reference(title="The pineal body", last_names=("Muller",)), work)
    assert not meet(reference(title="Another title of a work about this", year=1979), work)


# Stores


def test_the_rules_are_those_of_existing_stores() -> None:
    """If this fails, existing stores must be rebuilt: raise RULES."""
    assert RULES == 4
    assert work_keys(TROTT) == (
        "doi:10.1002/jcc.21334",
        "pmid:19499576",
        "t:autodockvinaimprovingthespeedaccuracyofdockingwi",
        "n:trott:autodockvinaimprovingthe",
        "e:trott:2010:ringfunction",
        "q:trott:2010:455",
        "p:2010:31:455:a",
        "a:trott:31:455",
        "y:2010:31:455",
        "f:2010:vina improving speed",
        "f:2010:accuracy docking with",
    )
    assert work_key("doi:10.1/x") == "w:doi:10.1/x"
    assert hashed("w:doi:10.1/x").hex() == "07529571c644666e"
    assert hashed("t:é\ud800").hex() == "012551b6d81f0336"
