"""Sources of papers: names, references without identifiers, and the patterns of their bibliographies."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from reflink.entities import Ids, Paper
from reflink.errors import ReflinkError
from reflink.evaluation.kdd.papers import own_works, paper_files, read_sources
from reflink.evaluation.kdd.patterns import NONE, Patterns

HEAD = "\\documentstyle[12pt]{article}\\begin{document}\\title{The decay of a boson}\\author{A. Meyer}\\maketitle Text.\n"
ITEMS = ("A. Meyer, Phys. Rev. D 60, 094020 (1999), hep-ph/9907233.", "B. Schulz, Z. Phys. C64 (1994) 275.")


def listed(begin: str, entry: str, end: str) -> str:
    """Return a paper with a bibliography in these commands."""
    return f"{HEAD}{begin}\n" + "\n\n".join(entry.format(number) + item for number, item in enumerate(ITEMS, 1)) + f"\n{end}\n"


BIBITEMS = listed("\\begin{thebibliography}{9}", "\\bibitem{{r{}}} ", "\\end{thebibliography}\\end{document}")


def test_a_paper_is_any_file_whose_name_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "2000").mkdir()
    for name in ("9907233", "9301253.tex", "2000/1234.tex.gz", "readme", "9907233.abs", "notes.tex", "edges"):
        (tmp_path / name).write_text("x")
    assert [number for number, _ in paper_files(tmp_path)] == ["0001234", "9301253", "9907233"]
    with pytest.raises(NotADirectoryError):
        paper_files(tmp_path / "readme")


def test_identifiers_are_removed_from_references_unless_they_are_kept(tmp_path: Path) -> None:
    (tmp_path / "9912001").write_bytes(gzip.compress(BIBITEMS.encode()))
    (source,) = read_sources(tmp_path, "hep-ph")
    assert isinstance(source.paper, Paper)
    assert [each.citing for each in source.paper.references] == ["arxiv:hep-ph/9912001"] * 2
    for each in source.paper.references:
        assert each.ids == each.ids_weak == Ids()
        assert "9907233" not in each.raw_text + (each.raw_noid or "")
        assert each.inferred is not None
    (kept,) = read_sources(tmp_path, "hep-ph", identifiers=True)
    assert isinstance(kept.paper, Paper)
    assert {each.ids_weak.arxiv or each.ids.arxiv for each in kept.paper.references} == {"hep-ph/9907233", None}


def test_plain_tex_and_plain_text_are_read_and_damaged_files_are_named(tmp_path: Path) -> None:
    text = "A paper.\n\nReferences\n\n" + "\n".join(f"[{number}] {item}" for number, item in enumerate(ITEMS, 1))
    (tmp_path / "9912001").write_text(text)
    (tmp_path / "9912002").write_bytes(b"%PDF-1.4")
    first, second = read_sources(tmp_path, "hep-ph")
    assert isinstance(first.paper, Paper)
    assert len(first.paper.references) == 2
    assert isinstance(second.paper, ReflinkError)


def test_papers_are_a_collection_by_their_own_titles(tmp_path: Path) -> None:
    (tmp_path / "9912001").write_text(BIBITEMS)
    (tmp_path / "2").write_bytes(b"%PDF-1.4")
    unread, work = own_works(tmp_path, "hep-ph")
    assert (unread.id, unread.title, unread.year) == ("arxiv:hep-ph/0000002", None, 2000)
    assert (work.id, work.title, work.authors, work.year) == (
        "arxiv:hep-ph/9912001", "The decay of a boson", ("Meyer",), 1999,
    )  # fmt: skip


@pytest.mark.parametrize(("source", "section", "entry"), [
    (BIBITEMS, "\\begin{thebibliography}", "\\bibitem"),
    (listed("\\begin{references}", "\\bibitem{{r{}}} ", "\\end{references}"), "\\begin{references}", "\\bibitem"),
    (listed("\\begin{references}", "\\item ", "\\end{references}"), "\\begin{references}", "\\item"),
    (listed("\\begin{numberedbib}", "\\bibitem{{r{}}} ", "\\end{numberedbib}"), "\\begin{numberedbib}", "\\bibitem"),
    (listed("\\centerline{\\bf References}", "[{}] ", "\\bye"), "References} … \\bye", "[NUMBER]"),
    (listed("\\section*{Bibliography}", "\\noindent ", "\\end{document}"), "Bibliography{ … \\end}", "\\noindent"),
    (listed("\\centerline{\\bf References}", "[{}] ", "\\end"), "\\ref … \\end", "[NUMBER]"),
    (HEAD, NONE, NONE),
])  # fmt: skip
def test_a_file_is_counted_under_its_pattern(source: str, section: str, entry: str) -> None:
    patterns = Patterns()
    patterns.add(source.encode(), "9912001")
    patterns.add(b"%PDF-1.4 damaged", "9912002")
    counts = patterns.to_dict()
    for table, name in (("sections", section), ("entries", entry)):
        files = {each: of["files"] for each, of in counts[table].items() if of["files"]}
        assert files == ({name: 1, NONE: 1} if name != NONE else {NONE: 2})
    assert counts["entries"]["\\bibitem"]["published"] == 31_696
    assert counts["sections"]["\\begin{references}"]["published"] == 5_368
