"""Damaged and hostile sources: only the named errors, in bounded time; real samples."""

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, parse
from reflink.formats.latex.macros import definitions
from reflink.formats.latex.rendering import Renderer
from tests.profiles import examples
from tests.reflink.formats.latex.sources import BBL, DOCUMENT, INTRO, targz
from tests.reflink.formats.samples import sample, samples

OPEN = "\\begin{thebibliography}{9}\\bibitem{a} "
SIZE = 60_000
HOSTILE = {
    "braces": OPEN + "{" * SIZE,
    "closed braces": OPEN + "{" * SIZE + "x" + "}" * SIZE,
    "href": OPEN + "\\href{" * (SIZE // 6),
    "bibinfo": OPEN + "\\bibinfo{author}{" * (SIZE // 17),
    "accents": OPEN + "\\'{" * (SIZE // 3),
    "labels": "\\bibitem[" * (SIZE // 9),
    "itself": "\\def\\a{\\a\\a}" + OPEN + "\\a" * 100,
    "laughs": "\\def\\a{lol}"
    + "".join(f"\\def\\{chr(98 + n)}{{{chr(92) + chr(97 + n)}{(chr(92) + chr(97 + n)) * 9}}}" for n in range(12))
    + OPEN + "\\m",
    "arguments": "\\newcommand{\\x}[2]{\\x{#1#1}{#2#2}}" + OPEN + "\\x{a}{b}",
    "definitions": "\\def\\a#1#2#3{" * (SIZE // 13) + OPEN,
    "sections": "\\documentclass{a}\\begin{document}\\def\\a{\\section{\\a}}\\a" + "\\section{" * (SIZE // 9),
    "notes": "\\documentclass{a}\\begin{document}" + "\\footnote{" * 5_000 + "}" * 5_000,
    "floats": "\\documentclass{a}\\begin{document}" + "\\begin{figure}" * 2_000 + "\\end{figure}" * 2_000,
    "cites": "\\documentclass{a}\\begin{document}" + "\\cite[" * (SIZE // 6) + "\\cite{" + "a," * SIZE + "}",
    "false": "\\iffalse " * (SIZE // 9) + OPEN,
    "entries": "\\entry{a}{b}{}\\field{title}{" * (SIZE // 29),
    "section in itself": "\\documentclass{a}\\begin{document}\\def\\a{\\section{\\a}}\\a",
    "bibs": "\\bib{a}{b}{" * (SIZE // 12),
    "lrefs": "\\lref\\a{" * (SIZE // 8),
    "authors": "\\documentclass{a}" + "\\author{" * (SIZE // 8) + "\\author[" * (SIZE // 8),
    "hang": "\\begin{references}\n" + "\\hang " * (SIZE // 6),
    "spaces": "\\begin{references}" + " " * SIZE + "\n" * SIZE,
}  # fmt: skip


def attempt(data: bytes, name: str | None = None) -> float:
    """Parse with text; return the seconds of processor time."""
    start = time.process_time()
    with suppress(NotAPaper, TooLarge):
        parse(Content(data), format_name=name, options=Options(infer=False, text=True))
    return time.process_time() - start


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sources_take_bounded_time(name: str):
    assert attempt(HOSTILE[name].encode(), "latex") < 20


@settings(max_examples=examples(300))
@given(st.data())
def test_damaged_sources_raise_only_named_errors(data: st.DataObject):
    source = bytearray(
        data.draw(
            st.sampled_from([DOCUMENT.encode(), (INTRO + BBL).encode(), targz({"a.tex": DOCUMENT + INTRO, "a.bbl": BBL})])
        )
    )
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(source)))
        piece = data.draw(
            st.sampled_from(
                [b"{", b"}", b"\\", b"$", b"[", b"]", b"%", b"\\begin{", b"\\def\\x#1{", b"\\cite{", b"\0", b"\xff", b"\n\n"]
            )
        )
        source[at : at + data.draw(st.integers(0, 40))] = piece
    attempt(bytes(source), "latex")


@settings(max_examples=examples(200))
@given(st.text(alphabet="\\{}[]$%~^_&#'`\"-abcé \n1@", max_size=200))
def test_marks_lie_within_the_text_that_is_one_line(source: str):
    renderer = Renderer(definitions(source), {"b": lambda each: each.mark_next("b")}, len(source))
    text, marks = renderer.render(source)
    assert text == " ".join(text.split())
    assert all(0 <= mark.start <= mark.stop <= len(text) + 1 for mark in marks)


#: Number of entries of each real source, counted by hand: \bibitem or \entry outside of comments and definitions.
COUNTS = {
    "1410.1214/RH-and-Physics.tex": 119, "1704.02281.tar.gz": 20, "1911.02782.gz": 55, "agude/ms.bbl": 36,
    "bbl_version_good.bbl": 2, "closurephase/ms.bbl": 69, "cosmic21cm/chapter.bbl": 100, "dropimpact/ms.bbl": 56,
    "dropimpact/supplement.bbl": 24, "wasp33/ms.bbl": 12,
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_no_entry_of_a_real_source_is_lost(name: str):
    (one,) = parse(Content(sample(f"latex/{name}")), options=Options(infer=False))
    assert len({each.xml_id for each in one.paper.references}) == COUNTS[name]
    assert not [each.raw_text for each in one.paper.references if "\\" in each.raw_text or "{" in each.raw_text]


def test_every_mention_of_real_archives_has_its_entry():
    for path in samples("latex/*.*gz"):
        (one,) = parse(Content(path.read_bytes(), path.name), options=Options(infer=False, text=True))
        keys = {each.xml_id for each in one.paper.references}
        cited = [entry for each in one.paragraphs for mention in each.mentions for entry in mention.entries]
        assert len(cited) > 20
        assert not set(cited) - keys, path.name
