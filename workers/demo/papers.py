"""Publish the papers of a folder, file or archive in waves, and track which of them are done."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from reflink.cli.inputs import read_contents
from reflink.errors import NotAPaper, ReflinkError
from workers.demo.outcomes import Outcomes
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import record_of

_WAVE: Final = re.compile(r"\d+-")


def waves(papers: Path, *, follow_links: bool = False) -> list[Path]:
    """Return the folders directly under ``papers`` whose names start with a number and a dash, in order of the number.

    Without such folders, the only wave is ``papers`` itself. Raises NotAPaper if such a folder is a symbolic link and
    ``follow_links`` is false.
    """
    folders = [each for each in papers.iterdir() if each.is_dir() and _WAVE.match(each.name)] if papers.is_dir() else []
    if not follow_links and (links := [each for each in folders if each.is_symlink()]):
        raise NotAPaper(f"{links[0]}: a symbolic link: use --follow-links to follow it")
    return sorted(folders, key=lambda each: (int(each.name.split("-")[0]), each.name)) or [papers]


def expect_papers(waves: Iterable[Path], *, follow_links: bool = False) -> None:
    """Open each wave up to its first paper, before the demo starts anything. Raises NotAPaper for a wave without papers."""
    for wave in waves:
        name, data = next(
            read_contents([str(wave)], follow_links=follow_links), (str(wave), NotAPaper(f"{wave}: contains no paper"))
        )
        if name == str(wave) and isinstance(data, ReflinkError):
            raise data


@dataclass
class Published:
    """The papers sent: the newest version by record key, and the file names by record key."""

    versions: dict[str, int] = field(default_factory=dict)
    files: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    #: File name and error message of files that cannot be sent.
    refused: list[tuple[str, str]] = field(default_factory=list)
    #: Ids of the other papers of a record, by its key.
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        """Return the number of files sent."""
        return sum(map(len, self.files.values()))

    def add(self, key: str, file: str, version: int, others: tuple[str, ...] = ()) -> None:
        """Record that a file was sent. ``others``: ids of its papers except the first."""
        self.versions[key], self.others[key] = version, others
        self.files[key].append(file)
        self._open.add(key)

    def settle(self, outcomes: Outcomes) -> int:
        """Drop the papers that are done, and return the number of the others."""
        # A settled paper stays settled until a newer version is published, so only the rest must be checked again.
        self._open = {
            key
            for key in self._open
            if not all(outcomes.is_settled(each, self.versions[key]) for each in (key, *self.others[key]))
        }
        return len(self._open)

    def waiting(self, count: int) -> list[str]:
        """Return the file names of at most ``count`` papers that are not done."""
        return [self.files[key][-1] for key in sorted(self._open)[:count]]


def publish_wave(
    wave: Path,
    sender: Sender,
    published: Published,
    *,
    pointer_root: Path,
    follow_links: bool = False,
    clock: Callable[[], float] = time.time,
) -> Iterator[str]:
    """Send every paper of ``wave`` in order, and yield its file name after sending it. Raises NotSent.

    A file that cannot be sent is recorded in ``published`` and skipped.
    """
    for path, data in read_contents([str(wave)], follow_links=follow_links):
        name = PurePosixPath(path.rpartition(":")[2]).name
        try:
            if isinstance(data, ReflinkError):
                raise data
            record = record_of(path, data, pointer_root=pointer_root)
        except ReflinkError as error:
            published.refused.append((name, str(error)))
            yield name
            continue
        key = record.key.decode()
        # The record's timestamp is its version. It is set here, so that the caller can wait for the manifest of this version.
        version = max(int(clock() * 1000), published.versions.get(key, 0) + 1)
        sender.send("papers", record.key, record.value, headers=record.headers, timestamp=version)
        published.add(key, name, version, record.others)
        yield name
