from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
from pathlib import Path

import pytest

from reflink.cli.inputs import read_papers
from reflink.entities import Paper
from reflink.errors import NotAPaper, ReflinkError, TooLarge
from tests.data import shared_data
from tests.reflink.cli.conftest import PAPER


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:" + path.suffix[1:].removeprefix("tar")) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def names(*files: object) -> list[str]:
    return [f"{name} {type(paper).__name__}" for name, paper in read_papers([str(file) for file in files])]


def test_files_folders_and_archives_give_the_same_papers(tmp_path: Path) -> None:
    data = PAPER.encode()
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.xml").write_bytes(data)
    (folder / "deep" / "b.nxml.gz").write_bytes(gzip.compress(data))
    (folder / "notes.txt").write_text("not a paper")
    assert names(folder) == [f"{folder}/a.xml Paper", f"{folder}/deep/b.nxml.gz Paper"]
    for suffix in ("tar", "tar.gz", "tar.xz"):
        packed = archive(tmp_path / f"papers.{suffix}", {"d/a.xml": data, "b.xml.gz": gzip.compress(data), "x.txt": b"no"})
        assert names(packed) == [f"{packed}:d/a.xml Paper", f"{packed}:b.xml.gz Paper"]


def test_an_unreadable_input_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    good = tmp_path / "good.xml"
    good.write_text(PAPER)
    bad = {
        "text.xml": b"hello",
        "empty.xml": b"",
        "cut.xml.gz": gzip.compress(PAPER.encode() * 50)[:-20],
        "broken.xml.gz": b"\x1f\x8b" + b"junk" * 10,
        "broken.tar.xz": b"not an archive",
        "cut.tar": archive(tmp_path / "whole.tar", {"a.xml": PAPER.encode() * 100}).read_bytes()[:5000],
    }
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "nothing").mkdir()
    paths = [tmp_path / name for name in (*bad, "absent.xml", "nothing")]
    for path in paths:
        (_, error), (_, paper) = read_papers([str(path), str(good)])
        assert isinstance(paper, Paper)
        assert isinstance(error, ReflinkError)
        assert path.name in str(error)
        assert "\n" not in str(error)


def test_a_gzip_bomb_is_too_large(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.xml.gz"
    bomb.write_bytes(gzip.compress(b" " * (65 * 2**20)))
    ((_, error),) = read_papers([str(bomb)])
    assert isinstance(error, TooLarge)


def test_a_file_name_that_is_not_utf_8_gives_a_valid_id(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.xml")).write_text("<article><front/></article>")
    ((_, paper),) = read_papers([str(tmp_path)])
    assert isinstance(paper, Paper)
    assert paper.to_json()
    assert "caf" in paper.id


def test_standard_input_is_one_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PAPER.encode())))
    ((name, paper),) = read_papers(["-"])
    assert name == "stdin"
    assert isinstance(paper, Paper)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    ((_, error),) = read_papers(["-"])
    assert isinstance(error, NotAPaper)


def test_the_shared_archive_is_readable() -> None:
    papers = read_papers([str(shared_data() / "jats.tar.xz")])
    for _ in range(20):
        name, paper = next(papers)
        assert isinstance(paper, Paper), name


def test_all_members_of_a_gzip_file_are_read(tmp_path: Path) -> None:
    data = PAPER.encode()
    path = tmp_path / "a.xml.gz"
    path.write_bytes(gzip.compress(data[:400]) + gzip.compress(data[400:]))
    ((_, paper),) = read_papers([str(path)])
    assert isinstance(paper, Paper)
    assert len(paper.references) == 2


LATEX = rb"""\documentclass{article}\begin{document}\begin{thebibliography}{9}
\bibitem{a} J. Doe, A title, Phys. Lett. B 234 (1990) 1.
\end{thebibliography}\end{document}"""


def test_an_archive_with_latex_is_one_paper_and_one_with_articles_is_a_collection(tmp_path: Path) -> None:
    for suffix in ("tar", "tar.gz"):
        source = archive(tmp_path / f"1706.03762.{suffix}", {"anc/a.xml": b"x", "biblio.bib": b"", "ms.tex": LATEX})
        ((_, paper),) = read_papers([str(source)])
        assert isinstance(paper, Paper)
        assert (paper.id, len(paper.references)) == ("arxiv:1706.03762", 1)
        mixed = archive(tmp_path / f"mixed.{suffix}", {"a.xml": PAPER.encode(), "b.tex": LATEX})
        assert names(mixed) == [f"{mixed}:a.xml Paper", f"{mixed}:b.tex Paper"]


def test_the_format_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("Doe J. A title. J. 2001; 1: 2-3.")
    ((_, paper),) = read_papers([str(path)], format_name="text")
    assert isinstance(paper, Paper)
    assert len(paper.references) == 1
    ((_, error),) = read_papers([str(path)], format_name="jats")
    assert isinstance(error, NotAPaper)
