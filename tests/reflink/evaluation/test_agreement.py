"""S2ORC's criteria for titles and authors, by the examples of its appendix D."""

from __future__ import annotations

from reflink.evaluation.agreement import agreement, authors_agree, titles_agree
from tests.reflink.evaluation.small import reference, work


def test_titles_agree_but_for_case_spaces_and_special_characters() -> None:
    cited = reference(title="The role of γ  rays in Müller cells")
    assert titles_agree(cited, work("w", "the Role of gamma rays in Muller cells."))
    assert not titles_agree(cited, work("w", "The role of gamma rays in Muller cells: a review"))
    assert not titles_agree(cited, work("w", None))
    assert not titles_agree(reference(raw_text="p. 7"), work("w", None)), "without a title nothing agrees"


def test_authors_agree_if_they_overlap_substantially() -> None:
    cited = reference(last_names=["A", "B", "C"])
    assert authors_agree(cited, work("w", None, "A", "B")), "the publication's example"
    assert authors_agree(cited, work("w", None, "C", "X"))
    assert not authors_agree(cited, work("w", None, "C", "X", "Y"))
    assert not authors_agree(cited, work("w", None))
    assert not authors_agree(reference(), work("w", None, "A"))
    assert authors_agree(reference(last_names=["Müller"]), work("w", None, "MULLER"))
    assert not authors_agree(reference(last_names=["…"]), work("w", None, "—")), "no letters to compare"
    assert not authors_agree(reference(last_names=["…", "A"]), work("w", None, "—", "B"))


def test_fields_are_recognised_where_none_are_tagged() -> None:
    raw = "Altschul SF, Gish W, Miller W. Basic local alignment search tool. J Mol Biol. 1990;215(3):403-410."
    pairs = [
        (reference(raw_text=raw), work("w", "Basic local alignment search tool", "Altschul", "Gish")),
        (reference(title="Zinc", last_names=["Li"]), work("v", "Zinc in rice", "Li")),
        (reference(raw_text="p. 7"), work("u", "Zinc", "Li")),
    ]
    found = agreement(pairs)
    assert (found["links"], found["title"], found["authors"]) == (3, round(1 / 3, 6), round(2 / 3, 6))
    assert (found["without_title"], found["without_authors"]) == (1, 1)
    assert agreement([])["title_interval"] == [0, 1]
