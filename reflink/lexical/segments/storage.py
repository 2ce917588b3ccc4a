"""Persistence of an index in a folder: immutable segments, and a state that lists the current segments and their dead rows.

``segment-NNNNNN/`` is an immutable segment; ``state-NNNNNN/`` lists segments and their dead rows; ``CURRENT`` names the
current state. Segments and state are complete on disk before ``CURRENT`` is replaced atomically, so ``CURRENT`` names a
readable index at every moment. Any other folder was left by a killed process, or is out of date; it is removed at the next
publication or opening.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.lexical.segments.parts import Part
from reflink.lexical.segments.segment import ARRAYS, Segment
from reflink.storage import durable, flatfiles
from reflink.text import MODES, Mode

SEGMENT: Final = "reflink lexical segment"
STATE: Final = "reflink lexical state"
CURRENT: Final = "CURRENT"
#: Version of the arrays of a segment. A segment with another version is refused.
LAYOUT: Final = 2

_STATE_ARRAYS: Final[dict[str, tuple[Any, int]]] = {"dead": (np.uint32, 1), "dead_offsets": (np.int64, 1)}
_OWN: Final = re.compile(r"(segment|state)-(\d{6,})")


class Storage:
    """The folder of one index. Only one process at a time may open it for changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: dict[Segment, str] = {}
        self._last = max((int(found[2]) for found in map(_OWN.fullmatch, os.listdir(folder)) if found), default=0)

    def holds(self, segment: Segment) -> bool:
        """Return whether this segment is stored in the folder."""
        return segment in self._names

    def write(self, segment: Segment) -> Segment:
        """Write a segment to a folder of its own and return it memory-mapped. Raises OSError if writing fails."""
        path = self._new("segment")
        save_segment(path, SEGMENT, {}, segment)
        mapped = open_segment(path, SEGMENT)[1]
        self._names[mapped] = path.name
        return mapped

    def publish(self, mode: Mode, parts: Sequence[Part]) -> None:
        """Make these parts, whose segments are already written, the current index. Raises OSError."""
        dead = [np.flatnonzero(~part.alive).astype(np.uint32) for part in parts]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(each) for each in dead], out=offsets[1:])
        arrays = {"dead": np.concatenate([np.empty(0, np.uint32), *dead]), "dead_offsets": offsets}
        names = [self._names[part.segment] for part in parts]
        path = self._new("state")
        flatfiles.save(path, STATE, {"mode": mode, "segments": names}, arrays)
        durable.write(self.folder / CURRENT, path.name.encode("ascii"))
        self._names = {part.segment: name for part, name in zip(parts, names, strict=True)}
        self._remove_all_but({path.name, *names})

    def read(self, *, verify: bool = False) -> tuple[Mode, list[Part]] | None:
        """Return the mode and the parts of the index, None if there is none yet. Raises SnapshotError as ``open_segment``."""
        try:
            name = (self.folder / CURRENT).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            self._remove_all_but(set())
            return None
        except (OSError, ValueError) as error:
            raise UnusableSnapshot(f"{self.folder / CURRENT}: cannot be read ({error}); build the index anew") from None
        if not _OWN.fullmatch(name):
            raise UnusableSnapshot(f"{self.folder / CURRENT}: names no state of an index; build the index anew")
        about, arrays = flatfiles.load(self.folder / name, STATE, _STATE_ARRAYS, verify=verify)
        mode, names, offsets = about.get("mode"), about.get("segments"), arrays["dead_offsets"]
        if mode not in MODES or not isinstance(names, list) or len(offsets) != len(names) + 1:
            raise UnusableSnapshot(f"{self.folder / name}: not the state of an index; build the index anew")
        parts = []
        for at, segment_name in enumerate(names):
            _, segment = open_segment(self.folder / str(segment_name), SEGMENT, verify=verify)
            dead = arrays["dead"][offsets[at] : offsets[at + 1]]
            if len(dead) and int(dead.max()) >= len(segment):
                raise UnusableSnapshot(f"{self.folder / name}: names rows that are not there; build the index anew")
            alive = np.ones(len(segment), np.bool_)
            alive[dead] = False
            parts.append(Part.of(segment, alive))
            self._names[segment] = str(segment_name)
        self._remove_all_but({name, *names})
        return mode, parts

    def _new(self, kind: str) -> Path:
        self._last += 1
        return self.folder / f"{kind}-{self._last:06}"

    def _remove_all_but(self, kept: set[str]) -> None:
        # A removed file stays readable where it is mapped.
        for name in os.listdir(self.folder):
            if _OWN.fullmatch(name) and name not in kept:
                shutil.rmtree(self.folder / name, ignore_errors=True)


def save_segment(folder: Path, kind: str, about: dict[str, Any], segment: Segment) -> None:
    """Write a segment to ``folder``, replacing its contents. Raises OSError."""
    flatfiles.save(folder, kind, {**about, "layout": LAYOUT}, segment.arrays())


def open_segment(folder: Path, kind: str, *, verify: bool = False) -> tuple[dict[str, Any], Segment]:
    """Return a segment's metadata and the memory-mapped segment.

    Raises SnapshotError if it has another layout version, and its subclass UnusableSnapshot if it is damaged.
    """
    about, _ = flatfiles.load(folder, kind, {})
    if about.get("layout") != LAYOUT:
        raise SnapshotError(f"{folder}: trigrams laid out by another version of reflink: build the catalog anew")
    _, arrays = flatfiles.load(folder, kind, ARRAYS, verify=verify)
    return about, Segment.of_arrays(arrays, folder)
