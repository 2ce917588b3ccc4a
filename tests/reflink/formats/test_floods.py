"""No format takes more than linear time: one unit, repeated, as a whole file and inside the frames of each format."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from reflink.errors import NotAPaper, PackageMissing, TooLarge
from reflink.formats import Content, Options, format_named, format_of

NAMED = (NotAPaper, TooLarge, PackageMissing)
#: Characters of a flood, and CPU seconds that it may take: ten times what the slowest takes.
SIZE = 40_000
SECONDS = 4.0
UNITS = [
    *(
        " ",
        "\n",
        "\t\n",
        "\r\n",
        "a",
        "1 ",
        "1-",
        ". ",
        "A. ",
        "(",
        "[",
        "{",
        "}",
        "\\",
        "\\a{",
        "{{}",
        "%\n",
        "$",
        "~",
        "&",
        "<",
        "<a>",
    ),
    *(
        "<a ",
        "<!--",
        "@",
        "@a{",
        "@article{a,",
        '"',
        "'",
        "10.1/",
        "10.1000/a ",
        "http://",
        "arXiv:",
        "doi:",
        "\\bibitem",
        "\\bibitem{a}",
    ),
    *(
        "\\bibitem{a} A. B, 2001. ",
        "\\cite{a}",
        "\\cite{a,",
        "\\href{",
        "\\begin{",
        "\\begin{a}",
        "\\item ",
        "\\input{a}",
        "\\iffalse ",
    ),
    *(
        "\\newcommand{\\a}{\\a\\a}",
        "\\def\\a{\\b\\b}",
        "\\newblock ",
        "\\bib{",
        "\\entry{a}{b}{c}\n",
        "\\field{a}{b}\n",
        "[1] ",
        "1. A\n",
    ),
    *(
        "- ",
        "TY  - JOUR\n",
        "ER  - \n",
        "TI  - ",
        "PMID- 1\n",
        '{"a":',
        "[[",
        '{"bib_entries":{',
        "2001 ",
        "et al. ",
        "Smith J, ",
        "\u2013",
    ),
    *("pp. 1-2 ", "vol. ", "\0", "\ufeff", "é", "\u0301"),
]
#: Units for floods inside a paper.
INSIDE = [
    *(" ", "\n", "a", "1-", "A. ", "(", "[", "{", "\\", "\\a{", "%\n", "$", "\\cite{a,", "10.1/", "Smith J, ", "2001 "),
]
FRAMES = {
    "latex": "\\documentclass{a}\\begin{document}\\cite{a}@\\begin{thebibliography}{9}\\bibitem{a}@\\end{thebibliography}"
    "\\end{document}",
    "tei": '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><p>@</p></body><back><div><listBibl><biblStruct xml:id="a">'
    '<monogr><title>@</title><imprint/></monogr><note type="raw_reference">@</note></biblStruct></listBibl></div></back>'
    "</text></TEI>",
    "jats": "<article><front/><body><p>@<xref ref-type='bibr' rid='a'>@</xref></p></body><back><ref-list><ref id='a'>"
    "<mixed-citation>@</mixed-citation></ref></ref-list></back></article>",
    "text": "References\n[1] Smith J. A title. J. 2001; 1: 2-3.\n[2] @\n[3] Smith J. A title. J. 2003; 1: 2-3.\n",
    "bibtex": '@article{a, title = {@}, author = {@}, year = 2001}\n@article{b, title = "@"}',
    "ris": "TY  - JOUR\nTI  - @\nAU  - @\nPY  - 2001\nER  - \n",
    "elsevier": '<article xmlns:ce="http://www.elsevier.com/xml/common/dtd"><head><ce:title>@</ce:title></head><tail>'
    "<ce:bibliography><ce:bib-reference id='a'><ce:other-ref><ce:textref>@</ce:textref></ce:other-ref></ce:bib-reference>"
    "</ce:bibliography></tail></article>",
}


@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_a_flood_is_recognised_in_no_time(unit: str):
    data = (unit * (SIZE // len(unit))).encode()
    began = time.process_time()
    for content in (Content(data), Content(b"\\" + data)):
        with suppress(*NAMED):
            format_of(content).parse(content, Options(infer=False, text=True))
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("name", FRAMES)
def test_a_flood_inside_a_paper_takes_no_time(name: str):
    slow = []
    for unit in INSIDE:
        flood = unit * (SIZE // len(unit) // FRAMES[name].count("@"))
        if FRAMES[name].startswith("<"):
            flood = flood.replace("&", "&amp;").replace("<", "&lt;").replace("\0", "")
        content = Content(FRAMES[name].replace("@", flood).encode(), "flood")
        began = time.process_time()
        with suppress(*NAMED):
            format_named(name).parse(content, Options(infer=False, text=True))
        if (took := time.process_time() - began) > SECONDS:
            slow.append((unit, took))
    assert slow == []
