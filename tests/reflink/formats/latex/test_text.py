"""The text of LaTeX sources: paragraphs, mentions, formulas, and the paper's own metadata."""

from reflink.contexts.paragraphs import Paragraph
from tests.reflink.formats.latex.sources import BBL, DOCUMENT, INTRO, bibliography, targz
from tests.reflink.formats.reading import parsed

FILES: dict[str, str | bytes] = {"main.tex": DOCUMENT, "intro.tex": INTRO, "main.bbl": BBL}


def paragraphs(body: str, head: str = "", items: str = BBL) -> tuple[Paragraph, ...]:
    source = f"\\documentclass{{article}}{head}\\begin{{document}}{body}\n{items}\\end{{document}}"
    return parsed(source, text=True)[0].paragraphs


def mentions(paragraph: Paragraph) -> list[tuple[str, str]]:
    return [(paragraph.text[each.start : each.stop], *each.entries) for each in paragraph.mentions]


def test_paragraphs_sections_parts_and_mentions():
    found = parsed(targz(FILES), text=True)[0].paragraphs
    assert [(each.part, each.section, each.text) for each in found] == [
        ("abstract", (), "We test."),
        ("body", ("Introduction",), "Some tested [1, 2] before [see 3, p. 3]. Others did not."),
        ("footnote", ("Introduction",), "A note of [2]."),
        ("body", ("Introduction", "More"), "With E=mc2 it is clear."),
        ("caption", ("Introduction", "More"), "A picture [1]."),
    ]
    assert mentions(found[1]) == [("1", "doe"), ("2", "roe"), ("3", "poe")]
    assert [found[3].text[start:stop] for start, stop in found[3].formulas] == ["E=mc2"]
    assert mentions(found[2]) == [("2", "roe")]


def test_the_paper_itself():
    paper = parsed(targz(FILES))[0].paper
    assert (paper.title, paper.authors, paper.given_names) == ("On tests", ("Doe", "van der Berg"), ("Jane", "K. P."))
    assert (paper.year, paper.abstract) == (2019, "We test.")


def test_commands_that_cite_and_that_do_not():
    for command in ("cite", "citep", "parencite", "autocite", "Cite", "citealp", "onlinecite", "supercite", "mycite", "cites"):
        (one,) = paragraphs(f"A \\{command}{{doe}} b.", "\\newcommand\\mycite[1]{\\cite{#1}}")
        assert mentions(one) == [("1", "doe")]
    (one,) = paragraphs("A \\nocite{doe} and \\citestyle{x} b\\xspace.")
    assert mentions(one) == []


def test_markers_by_author_and_year():
    items = bibliography("\\bibitem[Doe and Roe(1990)]{doe} x 1990\\bibitem[Poe(2001a)Poe, Roe]{poe} y 2001")
    (one,) = paragraphs("As \\citet{doe} say \\citep{doe,poe}.", items=items)
    assert one.text == "As Doe and Roe (1990) say (Doe and Roe 1990; Poe 2001a)."
    assert mentions(one) == [("Doe and Roe (1990)", "doe"), ("Doe and Roe 1990", "doe"), ("Poe 2001a", "poe")]


def test_names_of_entries_in_harvmac():
    source = (
        "\\input harvmac\n\\lref\\bee{A. Bee, Phys. Lett. 12, 34 (1990).}\n\\newsec{One}\nAs in "
        "\\bee\\ and \\refs{\\bee}.\n\\bye"
    )
    one = next(each for each in parsed(source, text=True)[0].paragraphs if each.mentions)
    assert (one.text, one.section) == ("As in 1 and [1].", ("One",))
    assert mentions(one) == [("1", "bee"), ("1", "bee")]


def test_what_is_not_text_is_left_out():
    body = (
        "A.\n\\begin{verbatim}\\cite{doe}\\end{verbatim}\n\\begin{comment}\\cite{doe}\\end{comment}"
        "\\iffalse \\cite{doe}\\fi % \\cite{doe}\n"
    )
    (one,) = paragraphs(body)
    assert (one.text, one.mentions) == ("A.", ())


def test_displayed_formulas_stand_in_their_paragraph():
    (one,) = paragraphs("We have\n\\begin{equation}\\label{e} a = b, \\end{equation}\nas in \\cite{doe}.")
    assert one.text == "We have a = b, as in [1]."
    assert [one.text[start:stop].strip() for start, stop in one.formulas] == ["a = b,"]
