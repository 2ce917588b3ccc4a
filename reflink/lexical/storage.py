"""An index that lives in a folder: segments, and which of them and of their rows are the index now.

``segment-NNNNNN/`` is an immutable segment; ``state-NNNNNN/`` lists segments and their dead rows; ``CURRENT`` names the
state. All are written whole before ``CURRENT`` is replaced, in one step, so at every moment it names an index that can be
read. What it does not name is left over from something that was killed, and is removed at the next opening.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reflink import flatfiles
from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.lexical.parts import Part
from reflink.lexical.segments import ARRAYS, Segment
from reflink.text import MODES, Mode

SEGMENT: Final = "reflink lexical segment"
STATE: Final = "reflink lexical state"
CURRENT: Final = "CURRENT"
#: Of the arrays of a segment; another one is not read.
LAYOUT: Final = 2

_STATE_ARRAYS: Final[dict[str, tuple[Any, int]]] = {"dead": (np.uint32, 1), "dead_offsets": (np.int64, 1)}
_OWN: Final = re.compile(r"(segment|state)-(\d{6,})")


class Storage:
    """The folder of one living index; one process may have it open to change it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: dict[Segment, str] = {}
        self._last = max((int(found[2]) for found in map(_OWN.fullmatch, os.listdir(folder)) if found), default=0)

    def holds(self, segment: Segment) -> bool:
        """Whether it was written here."""
        return segment in self._names

    def write(self, segment: Segment) -> Segment:
        """The same segment, mapped from a folder of its own. Raises OSError when the disk does not take it."""
        path = self._new("segment")
        save_segment(path, SEGMENT, {}, segment)
        mapped = open_segment(path, SEGMENT)[1]
        self._names[mapped] = path.name
        return mapped

    def publish(self, mode: Mode, parts: Sequence[Part]) -> None:
        """From now on these are the index, their segments written before. Raises OSError."""
        dead = [np.flatnonzero(~part.alive).astype(np.uint32) for part in parts]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(each) for each in dead], out=offsets[1:])
        arrays = {"dead": np.concatenate([np.empty(0, np.uint32), *dead]), "dead_offsets": offsets}
        names = [self._names[part.segment] for part in parts]
        path = self._new("state")
        flatfiles.save(path, STATE, {"mode": mode, "segments": names}, arrays)
        partial = self.folder / f"{CURRENT}.partial"
        with open(partial, "w", encoding="ascii") as file:
            file.write(path.name)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, self.folder / CURRENT)
        flatfiles.flush(self.folder)
        self._names = {part.segment: name for part, name in zip(parts, names, strict=True)}
        self._remove_all_but({path.name, *names})

    def read(self, *, verify: bool = False) -> tuple[Mode, list[Part]] | None:
        """The mode and the parts of the index, None when there is none yet. Raises UnusableSnapshot when it is damaged."""
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
        # Whoever has one of them mapped goes on reading it.
        for name in os.listdir(self.folder):
            if _OWN.fullmatch(name) and name not in kept:
                shutil.rmtree(self.folder / name, ignore_errors=True)


def save_segment(folder: Path, kind: str, about: dict[str, Any], segment: Segment) -> None:
    """Writes it into ``folder``, in place of what is there. Raises OSError."""
    flatfiles.save(folder, kind, {**about, "layout": LAYOUT}, segment.arrays())


def open_segment(folder: Path, kind: str, *, verify: bool = False) -> tuple[dict[str, Any], Segment]:
    """What was said about it, and the segment by memory map. Raises SnapshotError: UnusableSnapshot when it is damaged."""
    about, _ = flatfiles.load(folder, kind, {})
    if about.get("layout") != LAYOUT:
        raise SnapshotError(f"{folder}: trigrams laid out by another version of reflink: build the catalog anew")
    _, arrays = flatfiles.load(folder, kind, ARRAYS, verify=verify)
    return about, Segment.of_arrays(arrays, folder)
