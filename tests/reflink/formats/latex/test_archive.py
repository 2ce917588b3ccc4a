"""Archives as arXiv gives them, the main file and what it includes."""

import gzip
import random

import pytest

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, format_named, format_of, parse
from reflink.limits import Limits
from tests.reflink.formats.latex.sources import BBL, DOCUMENT, INTRO, bibliography, tar, targz
from tests.reflink.formats.reading import parsed

FILES: dict[str, str | bytes] = {"a/paper.tex": DOCUMENT, "a/intro.tex": INTRO, "a/paper.bbl": BBL, "a/fig.png": b"\x89PNG"}


def keys(data: bytes) -> list[str | None]:
    (one,) = parsed(data, name="latex")
    return [each.xml_id for each in one.paper.references]


@pytest.mark.parametrize(
    "data",
    [
        targz(FILES),
        tar(FILES),
        gzip.compress(BBL.encode()),
        BBL.encode(),
        gzip.compress(BBL.encode()[:50]) + gzip.compress(BBL.encode()[50:]),
    ],
    ids=["tar.gz", "tar", "gz of one file", "bbl", "gz of two parts"],
)
def test_every_packing_is_told_by_content_and_read(data: bytes):
    assert format_of(Content(data)).name == "latex"
    assert keys(data) == ["doe", "roe", "poe"]


@pytest.mark.parametrize("ending", ["gz", "tar.gz"])
def test_a_pdf_is_refused_with_the_reason(ending: str):
    data = gzip.compress(b"%PDF-1.5 x") if ending == "gz" else targz({"paper.pdf": b"%PDF-1.5"})
    assert format_of(Content(data)).name == "latex"
    with pytest.raises(NotAPaper, match="PDF"):
        parse(Content(data))


def test_an_archive_of_papers_of_another_format_is_no_paper():
    for name in ("a.xml", "b/a.nxml", "a.json"):
        for data in (tar({name: "x", "b.png": "y"}), targz({name: "x"})):
            assert not format_named("latex").recognises(Content(data))


def test_the_main_file_is_that_of_the_readme_then_that_with_a_bibliography():
    other = "\\documentclass{article}\\begin{document}x\\end{document}" + "%" * 5_000
    assert keys(targz({"zz.tex": other, "a.tex": DOCUMENT, "a.bbl": BBL})) == ["doe", "roe", "poe"]
    assert keys(targz({"zz.tex": other, "a.tex": DOCUMENT, "a.bbl": BBL, "00README.XXX": "zz.tex toplevelfile\n"})) == []
    stated = '{"sources": [{"usage": "toplevel", "filename": "zz.tex"}]}'
    assert keys(targz({"zz.tex": other, "a.tex": DOCUMENT, "a.bbl": BBL, "00README.json": stated})) == []


def test_another_document_of_the_archive_is_named_in_a_warning():
    (one,) = parsed(targz({"a.tex": DOCUMENT, "a.bbl": BBL, "supplement.tex": "\\documentclass{article}\\begin{document}"}))
    assert any("supplement.tex" in warning for warning in one.paper.warnings)


def test_links_and_paths_out_of_the_archive_are_ignored():
    text = DOCUMENT.replace("intro", "../../etc/passwd")
    files: dict[str, str | bytes] = {"main.tex": text, "../evil.bbl": bibliography("\\bibitem{evil} x"), "main.bbl": BBL}
    assert keys(tar(files, links={"intro.tex": "/etc/passwd", "paper.bbl": "/etc/passwd"})) == ["doe", "roe", "poe"]


def test_files_that_include_each_other_end():
    text = "\\documentclass{article}\\begin{document}\\input{a}\\input{a}" + bibliography("\\bibitem{x} A text of 1990.")
    assert keys(targz({"main.tex": text, "a.tex": "\\input{b}", "b.tex": "\\input{a}\\input b \\input{main}"})) == ["x"]


def test_what_unpacks_to_more_than_the_limit_is_too_large():
    bomb = gzip.compress(b"\0" * (1 << 24))
    assert len(bomb) < 1 << 15
    with pytest.raises(TooLarge, match="unpacks"):
        parse(Content(bomb), format_name="latex", options=Options(Limits(size=1 << 20)))
    doubling: dict[str, str | bytes] = {f"f{n}.tex": f"\\input{{f{n + 1}}}\\input{{f{n + 1}}}" for n in range(15)}
    big = {"main.tex": "\\documentclass{a}\\begin{document}\\input{f0}", **doubling, "f15.tex": "x" * 10_000}
    with pytest.raises(TooLarge, match="includes"):
        parse(Content(targz(big)), options=Options(Limits(size=1 << 19)))


def test_an_archive_of_too_many_members_is_too_large():
    header = tar({"b.eps": b""})[:512]
    with pytest.raises(TooLarge, match="members"):
        parse(Content(header * 20_001), options=Options())


def test_a_damaged_archive_is_read_up_to_the_damage():
    random.seed(1)
    files = {"main.tex": DOCUMENT, "main.bbl": BBL, "z.eps": random.randbytes(100_000)}
    whole = targz(files)
    (one,) = parsed(whole[:60_000])
    assert len(one.paper.references) == 3
    assert one.paper.warnings
    broken = whole[:60_000] + b"\xff" * 100 + whole[60_100:]
    (one,) = parsed(broken)
    assert len(one.paper.references) == 3
    assert one.paper.warnings


def test_the_arxiv_id_is_that_of_the_name_of_the_file():
    for name, arxiv in {
        "1508.03176v1.tar.gz": "1508.03176",
        "hep-th9901001": "hep-th/9901001",
        "paper": None,
        "2020.1234": None,
    }.items():
        assert parse(Content(BBL.encode(), name))[0].paper.ids.arxiv == arxiv


def test_the_encoding_is_that_which_the_source_declares():
    text = "\\documentclass{article}\\usepackage[latin2]{inputenc}\\begin{document}" + bibliography(
        "\\bibitem{a} W. Łoś, 1990."
    )
    assert parsed(text.encode("latin2"))[0].paper.references[0].raw_text == "W. Łoś, 1990."
