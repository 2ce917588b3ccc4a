"""Training pairs: forms of references, folds, right and wrong works, and absent references of PubMed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from reflink.entities import Ids, Reference, Work
from reflink.evaluation import pubmed
from reflink.evaluation.pairs import FOLDS, FORMS, SOURCES, Pairs, collect_absent, fold_of, without_title
from reflink.evaluation.same_record import is_same_record
from reflink.evaluation.searches import kept_catalog
from reflink.evaluation.training import of_lists
from reflink.evaluation.worlds import hidden
from reflink.verdict import evidence
from reflink.verdict.evidence import COLUMN, TAGGED, TITLED, UNTITLED, WRITTEN
from tests.reflink.evaluation.pubmed_files import RECORDS, TITLED_TEXTS, written
from tests.reflink.evaluation.trainingworld import PAPERS

REFERENCE = Reference(
    id="c#1", citing="c", position=1, title="Wheat yields", last_names=("Li",), raw_text="Li. Wheat  yields. 1999", year=1999,
)  # fmt: skip


def test_a_reference_has_three_forms() -> None:
    asked = [form(REFERENCE) for form in FORMS]
    assert asked[0] == REFERENCE
    assert (asked[1].title, asked[1].last_names, asked[1].raw_query) == (None, ("Li",), "Li. Wheat yields. 1999")
    assert (asked[2].title, asked[2].last_names, asked[2].year, asked[2].raw_query) == (None, (), None, REFERENCE.raw_text)
    assert [evidence(each, Work(id="x")).card for each in asked] == [TITLED, TAGGED, WRITTEN]


def test_a_title_is_taken_from_the_text_too_and_identifiers_do_not_come_back() -> None:
    reference = Reference(
        id="c#1", citing="c", position=1, chapter_title="Wheat", raw_text="Li. Wheat. 10.1/x", raw_noid="Li. Wheat.",
        ids=Ids(doi="10.1/x"),
    )  # fmt: skip
    bare = without_title(reference)
    assert (bare.title, bare.chapter_title, bare.raw_query, bare.raw_text) == (None, None, "Li. .", "Li. .")
    assert hidden(reference).ids == Ids()
    assert hidden(reference).raw_query == "Li. Wheat."
    assert without_title(hidden(reference)) == hidden(reference)


def test_folds_are_even_and_of_the_paper_alone() -> None:
    counts = np.bincount([fold_of(f"pmcid:PMC{n}") for n in range(2000)], minlength=FOLDS)
    assert len(counts) == FOLDS
    assert counts.min() > 300
    assert fold_of("pmcid:PMC1") == int(hashlib.sha1(b"pmcid:PMC1").hexdigest(), 16) % FOLDS


def test_pairs_are_right_and_wrong_ones_on_every_card_and_without_identifiers(pairs: Pairs) -> None:
    assert len(pairs.rows) == len(pairs.y) == len(pairs.fold) == len(pairs.query) == len(pairs.removed) == len(pairs.weight)
    assert (pairs.source == SOURCES.index("jats")).all()
    cards = pairs.rows[:, COLUMN["card"]]
    for card in range(UNTITLED):
        assert pairs.y[cards == card].any()
        assert not pairs.y[cards == card].all()
    assert np.isnan(pairs.rows[:, COLUMN["identifier"]]).all()
    assert np.unique(pairs.fold).tolist() == sorted({fold_of(f"pmcid:{paper}") for paper in PAPERS})
    as_they_are = pairs.as_they_are
    assert (cards[as_they_are] == TITLED).all()
    assert as_they_are.any()
    right = np.bincount(pairs.query[as_they_are & pairs.y], minlength=pairs.asked)
    assert (right == 1).all(), "each reference finds its one work"


def test_training_uses_the_evidence_of_linking(pairs: Pairs) -> None:
    """The values are equal to the last bit: a name that agrees to 0.8 must reach the step at 0.8."""
    agreeing = pairs.rows[:, COLUMN["agreeing"]]
    reference = Reference(id="c#1", citing="c", position=1, last_names=("Kuratani", "Schmitgen"))
    misspelt = evidence(reference, Work(id="x", authors=("Kuratani", "Schmittgen")))
    assert misspelt.agreeing == 1.8
    assert (agreeing == misspelt.agreeing).any()


def test_equal_records_are_the_same_work() -> None:
    work = Work(id="a", title="Wheat yields under heat", authors=("Li",), year=1999, volume="3", fpage="7")
    for same in ({"title": "Wheat Yields under Heat."}, {"volume": None, "fpage": None}, {"fpage": "9"}, {"volume": "4"}):
        assert is_same_record(work, work.model_copy(update={"id": "b", **same}))
    different = (
        {"title": "Wheat yields"},
        {"year": 2000},
        {"authors": ("Wu",)},
        {"volume": "4", "fpage": "9"},
        {"title": None},
    )
    for other in different:
        assert not is_same_record(work, work.model_copy(update={"id": "b", **other}))


def test_pubmed_gives_pairs_of_present_and_of_absent_references(tmp_path: Path) -> None:
    pairs, papers = of_lists(written(tmp_path), [], tmp_path)
    assert (pairs.source == SOURCES.index("pubmed")).all()
    assert papers == {f"pmid:{9000 + n}" for n in range(7)}
    cards = pairs.rows[:, COLUMN["card"]]
    absent = ~np.isin(pairs.query, pairs.query[pairs.y])
    assert np.isnan(pairs.rows[:, COLUMN["identifier"]]).all()
    for card, references in ((UNTITLED, 2 * len(RECORDS)), (WRITTEN, len(TITLED_TEXTS))):
        assert len(np.unique(pairs.query[cards == card])) == references
        assert absent[cards == card].any()
    present = len(np.unique(pairs.query[pairs.y]))
    gone = len(np.unique(pairs.query[absent]))
    assert present == pairs.y.sum() == len(RECORDS) + len(TITLED_TEXTS) // 2
    assert (pairs.weight[~absent] == 1).all()
    np.testing.assert_allclose(pairs.weight[absent], present / gone)
    assert pairs.as_they_are.all()


def test_absent_references_have_only_works_that_they_cannot_cite(tmp_path: Path) -> None:
    """A work without an identifier of the same kind may be the cited one."""
    cited = [each for each in pubmed.read_references(written(tmp_path)) if int(each.ids.pmid or 0) >= 1000]
    works = list(pubmed.read_works(tmp_path))
    other = [work.model_copy(update={"ids": Ids(doi="10.1/x")}) for work in works]
    decided, undecided = (collect_absent(cited, kept_catalog(listed, None, tmp_path)) for listed in (works, other))
    assert len(np.unique(decided.query)) == len(cited)
    assert not decided.y.any()
    assert len(undecided.y) == 0


def test_references_of_more_sources_get_their_own_numbers(tmp_path: Path, pairs: Pairs) -> None:
    more, _ = of_lists(written(tmp_path), [], tmp_path)
    both = pairs.and_more(more)
    assert len(both.y) == len(pairs.y) + len(more.y)
    assert both.asked == pairs.asked
    first, second = (np.unique(both.query[both.source == number]) for number in range(len(SOURCES)))
    assert not np.isin(first, second).any()
    assert (both.as_they_are[both.source == 0] == pairs.as_they_are).all()
