"""A walk through a folder of papers follows no link out of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reflink.cli.inputs import read_contents
from reflink.errors import NotAPaper
from tests.reflink.cli.conftest import PAPER, Reflink

SECRET = b"<article>secret</article>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two papers, beside files that do not belong to it."""
    made = tmp_path / "folder"
    (made / "deep").mkdir(parents=True)
    (made / "b.xml").write_text(PAPER)
    (made / "deep" / "c.xml").write_text(PAPER)
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "s.xml").write_bytes(SECRET)
    return made


LINKS: dict[str, Callable[[Path], None]] = {
    "a.xml": lambda path: path.symlink_to(path.parent.parent / "secret"),
    "a.nxml": lambda path: path.symlink_to("../secret"),
    "a.xml.gz": lambda path: path.symlink_to("deep/../../secret"),
    "chain.xml": lambda path: (path.with_name("x").symlink_to("../secret"), path.symlink_to("x"))[0],
    "linked": lambda path: path.symlink_to(path.parent.parent / "secrets"),
    "deep/linked": lambda path: path.symlink_to("../../secrets"),
    "inside.xml": lambda path: path.symlink_to("b.xml"),
    "inside": lambda path: path.symlink_to("deep"),
    "dangling.xml": lambda path: path.symlink_to("nowhere"),
    "circle": lambda path: path.symlink_to("."),
    "self.xml": lambda path: path.symlink_to("self.xml"),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_link_is_refused_and_the_other_papers_are_read(folder: Path, name: str) -> None:
    LINKS[name](folder / name)
    found = dict(read_contents([str(folder)]))
    assert found.keys() == {str(folder / each) for each in (name, "b.xml", "deep/c.xml")}
    refused = found.pop(str(folder / name))
    assert isinstance(refused, NotAPaper)
    assert str(folder / name) in str(refused)
    assert "--follow-links" in str(refused)
    assert set(found.values()) == {PAPER.encode()}


def test_links_are_followed_on_request_and_each_folder_is_read_once(folder: Path) -> None:
    for name, link in LINKS.items():
        link(folder / name)
    (folder / "notes.txt").symlink_to("b.xml")
    found = dict(read_contents([str(folder)], follow_links=True))
    read = {Path(name).relative_to(folder).as_posix(): data for name, data in found.items() if isinstance(data, bytes)}
    assert {name: data for name, data in read.items() if data != SECRET} == {
        "b.xml": PAPER.encode(), "inside.xml": PAPER.encode(), "deep/c.xml": PAPER.encode(),
    }  # fmt: skip
    assert {name for name, data in read.items() if data == SECRET} == {
        "a.xml", "a.nxml", "a.xml.gz", "chain.xml", "deep/linked/s.xml",
    }  # fmt: skip
    assert {Path(name).name for name, data in found.items() if not isinstance(data, bytes)} == {"dangling.xml", "self.xml"}


def test_folders_reached_by_many_links_are_read_once(tmp_path: Path) -> None:
    for level in range(60):
        (tmp_path / f"{level}").mkdir()
        for name in ("x", "y"):
            (tmp_path / f"{level}" / name).symlink_to(tmp_path / f"{level + 1}")
    (tmp_path / "60").mkdir()
    (tmp_path / "60" / "a.xml").write_text(PAPER)
    assert len(list(read_contents([str(tmp_path / "0")], follow_links=True))) == 1


def test_a_file_or_folder_replaced_by_a_link_during_the_walk_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "a.xml").write_text(PAPER)
    papers = read_contents([str(folder)])
    assert next(papers) == (str(folder / "a.xml"), PAPER.encode())
    (folder / "b.xml").unlink()
    (folder / "b.xml").symlink_to(tmp_path / "secret")
    (folder / "deep").rename(tmp_path / "away")
    (folder / "deep").symlink_to(tmp_path / "secrets")
    rest = dict(papers)
    assert rest.keys() == {str(folder / "b.xml"), str(folder / "deep")}
    assert all(isinstance(error, NotAPaper) for error in rest.values())


def test_a_parent_folder_replaced_by_a_link_does_not_redirect_the_walk(folder: Path, tmp_path: Path) -> None:
    (folder / "deep" / "a.xml").write_text(PAPER)
    (tmp_path / "secrets" / "c.xml").write_bytes(SECRET)
    papers = read_contents([str(folder)])
    assert [next(papers)[0], next(papers)[0]] == [str(folder / "b.xml"), str(folder / "deep" / "a.xml")]
    (folder / "deep").rename(tmp_path / "away")
    (folder / "deep").symlink_to(tmp_path / "secrets")
    assert dict(papers) == {str(folder / "deep" / "c.xml"): PAPER.encode()}


def test_a_named_file_or_folder_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "to-folder").symlink_to(folder)
    (tmp_path / "to-file").symlink_to(folder / "b.xml")
    found = dict(read_contents([str(tmp_path / "to-folder"), str(tmp_path / "to-file")]))
    assert found.keys() == {str(tmp_path / each) for each in ("to-folder/b.xml", "to-folder/deep/c.xml", "to-file")}
    assert set(found.values()) == {PAPER.encode()}


def test_a_named_pipe_is_refused_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "a.xml")
    found = dict(read_contents([str(folder)]))
    assert "not a regular file" in str(found[str(folder / "a.xml")])
    assert len(found) == 3


def test_a_folder_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(101):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "a.xml").write_text(PAPER)
    ((name, error),) = [each for each in read_contents([str(tmp_path)]) if not isinstance(each[1], bytes)]
    assert name == str(deep)
    assert "folders deep" in str(error)


@pytest.mark.parametrize("command", ["parse", "link"])
def test_the_commands_refuse_or_follow_links(reflink: Reflink, folder: Path, catalog: Path, command: str) -> None:
    (folder / "a.xml").symlink_to("deep/c.xml")
    more = ("--catalog", catalog) if command == "link" else ()
    refused = reflink(command, folder, "--json", *more)
    followed = reflink(command, folder, "--json", "--follow-links", *more)
    assert (refused.code, followed.code) == (1, 0)
    assert f"{folder / 'a.xml'}: a symbolic link" in refused.err
    assert followed.err == ""
    assert 2 * len(followed.json) == 3 * len(refused.json)
