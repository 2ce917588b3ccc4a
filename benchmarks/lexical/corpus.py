"""The catalogs and the queries of the benchmark: real ones from the shared data, made works beyond them.

Some queries are held out: the whole groups of the works they cite are in no catalog, so they have no target. The first works
of every catalog are the other real ones, the rest is recombined from these: a catalog is the beginning of each larger one.

All of it is kept in a folder, and read from there by the chunk: texts a line each, trigrams mapped.
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
from reflink.idtable import frozen
from reflink.lexical.trigrams import trigram_sets
from reflink.text import Mode, reference_text, work_text

SEED: Final = 7
#: Made works that are compared with the real ones.
COMPARED: Final = 200_000
#: Raised when what is kept in the folder changes.
VERSION: Final = 1

Codes = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as a normalised text, and the work it cites, which a catalog may lack."""

    text: str
    truth: str


@dataclass(frozen=True)
class Corpus:
    """The folder. ``about``: real works, queries held out, works removed, and ``likeness`` by mode."""

    folder: Path
    about: dict[str, Any]

    @classmethod
    def prepare(cls, works: Path, references: Path, cache: Path, count: int, modes: Sequence[Mode], held_out: int) -> Self:
        """Opens the folder in ``cache`` that is for these files; first makes what is not there. Raises BadRecord."""
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
        """Ids and texts of the first ``count`` works, ``chunk`` at a time."""
        with (self.folder / "ids.txt").open() as real, (self.folder / f"{mode}.txt").open(encoding="ascii") as file:
            ids = chain(map(str.rstrip, real), (f"made:{number:08}" for number in range(count)))
            texts = (line.removesuffix("\n") for line in file)
            for first in range(0, count, chunk):
                size = min(chunk, count - first)
                yield list(islice(ids, size)), list(islice(texts, size))

    def trigrams(self, mode: Mode, count: int) -> tuple[Codes, Ints]:
        """Trigrams of the first ``count`` works end to end, mapped, and where those of each begin."""
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.fromfile(self.folder / f"{mode}.sizes", np.uint16, count), out=offsets[1:])
        codes: Codes = np.memmap(self.folder / f"{mode}.codes", np.uint16, "r", shape=(int(offsets[-1]),)).view(np.ndarray)
        return codes, frozen(offsets)

    def queries(self, mode: Mode, target: bool, count: int) -> list[Asked]:
        """The first ``count`` queries with a target in the catalogs, or without, that have a trigram in this mode."""
        kept = json.loads((self.folder / f"{mode}.queries.json").read_text())["with" if target else "without"]
        return [Asked(*each) for each in kept[:count]]


def split(queries: Sequence[Query], groups: Groups, held_out: int) -> tuple[list[Query], list[Query], frozenset[str]]:
    """Queries without a target and with one, in random order, and the works to leave out, so that it is so."""
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
    real.sort(key=lambda work: work.id not in targets)  # so they are in small catalogs too
    del listings
    (folder / "ids.txt").write_text("".join(f"{work.id}\n" for work in real))
    recipe = Recipe(real)
    about = {"made": {}, "likeness": {}, **about, "real": len(real), "held_out": len(without), "removed": len(removed)}
    for mode in modes:
        about["made"].pop(mode, None)
        _about(folder).write_text(json.dumps(about))  # so that what is half written is not taken for whole
        about["likeness"][mode] = _texts(real, recipe, folder, max(count, len(real)), mode)
        kept = {"without": _asked(without, mode, held_out), "with": _asked(present, mode, held_out)}
        (folder / f"{mode}.queries.json").write_text(json.dumps(kept))
        about["made"][mode] = max(count, len(real))
        _about(folder).write_text(json.dumps(about))
    return about


def _texts(real: Sequence[Work], recipe: Recipe, folder: Path, count: int, mode: Mode) -> dict[str, Any]:
    """Writes a mode's texts and trigrams; how like the real works the made ones are."""
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
