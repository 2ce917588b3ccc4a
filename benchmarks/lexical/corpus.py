"""The catalogs and the queries of the benchmark: real ones from the shared data, and recombined works beyond them.

Some queries are held out: no catalog contains the groups of the works they cite, so they have no target. The first works of
every catalog are the other real works, the rest is recombined from these: a catalog is a prefix of each larger one.

All data are kept in a folder and read in chunks: texts one per line, trigrams mapped.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Self, cast

import numpy as np
import numpy.typing as npt

from benchmarks.lexical.recombined import CHUNK, Recipe, likeness
from reflink.entities import Work
from reflink.evaluation.records import Query, read_queries, read_works, without_identifiers
from reflink.evaluation.worlds import Groups
from reflink.lexical.trigrams import trigram_sets
from reflink.storage.idtable import frozen
from reflink.text import Mode, reference_text, work_text

SEED: Final = 7
#: Number of recombined works that are compared with the real ones.
COMPARED: Final = 200_000
#: Increased when the contents of the folder change.
VERSION: Final = 1

Codes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as a normalised text, and the work it cites, which may be missing from a catalog."""

    text: str
    truth: str


@dataclass(frozen=True)
class Corpus:
    """The folder. ``about``: real works, queries held out, works removed, and ``likeness`` by mode."""

    folder: Path
    about: dict[str, Any]

    @classmethod
    def prepare(cls, works: Path, references: Path, cache: Path, count: int, modes: Sequence[Mode], held_out: int) -> Self:
        """Open the folder in ``cache`` for these files; make missing texts first. Raises BadRecord."""
        stamp = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in (works, references)]
        key = hashlib.sha256(json.dumps([VERSION, SEED, held_out, stamp]).encode()).hexdigest()[:16]
        folder = cache / key
        folder.mkdir(parents=True, exist_ok=True)
        about = json.loads(_about(folder).read_text()) if _about(folder).exists() else {}
        wanted = [mode for mode in modes if about.get("made", {}).get(mode, -1) < count]
        if wanted:
            print(f"making texts of {count:,} works for {', '.join(wanted)} in {folder}", flush=True)
            about = _make(works, references, folder, about, count, wanted, held_out)
        return cls(folder, about)

    def texts(self, mode: Mode, count: int, chunk: int) -> Iterator[tuple[list[str], list[str]]]:
        """Yield ids and texts of the first ``count`` works, ``chunk`` at a time."""
        with (self.folder / "ids.txt").open() as real, (self.folder / f"{mode}.txt").open(encoding="ascii") as file:
            ids = chain(map(str.rstrip, real), (f"made:{number:08}" for number in range(count)))
            texts = (line.removesuffix("\n") for line in file)
            for first in range(0, count, chunk):
                size = min(chunk, count - first)
                yield list(islice(ids, size)), list(islice(texts, size))

    def trigrams(self, mode: Mode, count: int) -> tuple[Codes, Ints]:
        """Return the trigrams of the first ``count`` works end to end, mapped, and the offsets of each work's trigrams."""
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.fromfile(self.folder / f"{mode}.sizes", np.uint16, count), out=offsets[1:])
        codes: Codes = np.memmap(self.folder / f"{mode}.codes", np.uint16, "r", shape=(int(offsets[-1]),)).view(np.ndarray)
        return codes, frozen(offsets)

    def queries(self, mode: Mode, target: bool, count: int) -> list[Asked]:
        """Return the first ``count`` queries with a target in the catalogs, or without, that have a trigram in this mode."""
        kept = json.loads((self.folder / f"{mode}.queries.json").read_text())["with" if target else "without"]
        return [Asked(*each) for each in kept[:count]]


def split(queries: Sequence[Query], groups: Groups, held_out: int) -> tuple[list[Query], list[Query], frozenset[str]]:
    """Return queries without and with a target, in random order, and the works to leave out so that the former have none."""
    shuffled = random.Random(SEED).sample(queries, len(queries))
    without = shuffled[:held_out]
    removed = frozenset(id_ for query in without for id_ in groups.same(query.truth))
    present = [query for query in shuffled[held_out:] if query.truth in groups.of and query.truth not in removed]
    return without, present, removed


def _about(folder: Path) -> Path:
    return folder / "about.json"


def _make(
    works: Path, references: Path, folder: Path, about: dict[str, Any], count: int, modes: Sequence[Mode], held_out: int
) -> dict[str, Any]:
    listings = list(read_works(works))
    without, present, removed = split(list(read_queries(references)), Groups.read(listings), held_out)
    targets = {query.truth for query in present}
    real = [listing.work for listing in listings if listing.work.id not in removed]
    real.sort(key=lambda work: work.id not in targets)  # so that small catalogs contain them too
    del listings
    (folder / "ids.txt").write_text("".join(f"{work.id}\n" for work in real))
    recipe = Recipe(real)
    about = {"made": {}, "likeness": {}, **about, "real": len(real), "held_out": len(without), "removed": len(removed)}
    for mode in modes:
        about["made"].pop(mode, None)
        _about(folder).write_text(json.dumps(about))  # so that a partial write is not read as complete
        about["likeness"][mode] = _texts(real, recipe, folder, max(count, len(real)), mode)
        kept = {"without": _asked(without, mode, held_out), "with": _asked(present, mode, held_out)}
        (folder / f"{mode}.queries.json").write_text(json.dumps(kept))
        about["made"][mode] = max(count, len(real))
        _about(folder).write_text(json.dumps(about))
    return about


def _texts(real: Sequence[Work], recipe: Recipe, folder: Path, count: int, mode: Mode) -> dict[str, Any]:
    """Write a mode's texts and trigrams; return how similar the recombined works are to the real ones."""
    originals = (
        [work_text(work, mode, lexical=True) for work in real[first : first + CHUNK]] for first in range(0, len(real), CHUNK)
    )
    with (
        (folder / f"{mode}.txt").open("w", encoding="ascii") as texts,
        (folder / f"{mode}.codes").open("wb") as codes,
        (folder / f"{mode}.sizes").open("wb") as sizes,
    ):
        for chunk in chain(originals, recipe.texts(count - len(real), mode, SEED)):
            texts.writelines(f"{text}\n" for text in chunk)
            found, offsets = trigram_sets(chunk)
            found.tofile(codes)
            np.diff(offsets).astype(np.uint16).tofile(sizes)
    made = chain.from_iterable(recipe.texts(COMPARED, mode, SEED + 1))
    return likeness([work_text(work, mode, lexical=True) for work in real], list(made))


def _asked(queries: Sequence[Query], mode: Mode, count: int) -> list[tuple[str, str]]:
    texts = ((reference_text(without_identifiers(query.reference), mode, lexical=True), query.truth) for query in queries)
    return cast("list[tuple[str, str]]", list(islice((each for each in texts if len(each[0]) >= 3), count)))
