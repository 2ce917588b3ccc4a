"""Publishing the papers of a folder, file or archive in waves, and knowing when a wave is done."""

from __future__ import annotations

import re
import tarfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from reflink.cli.inputs import read_contents
from reflink.errors import NotAPaper, ReflinkError
from workers.local.outcomes import Outcomes
from workers.publishing import record_of
from workers.sending import Sender

_WAVE: Final = re.compile(r"\d+-")


def waves(papers: Path) -> list[Path]:
    """The folders directly under ``papers`` whose names start with a number and a dash, by that number; without any, itself."""
    folders = [each for each in papers.iterdir() if each.is_dir() and _WAVE.match(each.name)] if papers.is_dir() else []
    return sorted(folders, key=lambda each: (int(each.name.split("-")[0]), each.name)) or [papers]


def expect_papers(waves: Iterable[Path]) -> None:
    """Opens each as far as its first paper, before anything is started for them. Raises NotAPaper for one without any."""
    for wave in waves:
        name, data = next(_contents(wave), (str(wave), NotAPaper(f"{wave}: no paper in it")))
        if name == str(wave) and isinstance(data, ReflinkError):
            raise data


@dataclass
class Published:
    """What was sent: the newest version by record key, and the files that went under each key."""

    versions: dict[str, int] = field(default_factory=dict)
    files: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    #: File name and complaint of those that cannot be sent at all.
    refused: list[tuple[str, str]] = field(default_factory=list)
    _open: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        """Files sent."""
        return sum(map(len, self.files.values()))

    def add(self, key: str, file: str, version: int) -> None:
        """A file was sent."""
        self.versions[key] = version
        self.files[key].append(file)
        self._open.add(key)

    def settle(self, outcomes: Outcomes) -> int:
        """Drops what is done by now; returns how many papers are not."""
        # A settled paper stays so, as long as no newer version is published: what is left to look at shrinks.
        self._open = {key for key in self._open if not outcomes.is_settled(key, self.versions[key])}
        return len(self._open)

    def waiting(self, count: int) -> list[str]:
        """Some of those that are not done, by file name."""
        return [self.files[key][-1] for key in sorted(self._open)[:count]]


def publish_wave(
    wave: Path,
    sender: Sender,
    published: Published,
    *,
    pointer_root: Path,
    clock: Callable[[], float] = time.time,
) -> Iterator[str]:
    """Sends every paper of ``wave`` in order; yields its file name once it is on its way. Raises NotSent or NotAPaper.

    A file that cannot be sent is noted in ``published`` and passed over.
    """
    for path, data in _contents(wave):
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
        # The record's timestamp is its version: known here, so that the manifest of this very version can be waited for.
        version = max(int(clock() * 1000), published.versions.get(key, 0) + 1)
        sender.send("papers", record.key, record.value, headers=record.headers, timestamp=version)
        published.add(key, name, version)
        yield name


def _contents(wave: Path) -> Iterator[tuple[str, bytes | ReflinkError]]:
    try:
        yield from read_contents([str(wave)])
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise NotAPaper(f"{wave}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
