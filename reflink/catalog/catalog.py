"""The catalog: works by id, identifier and locator, their indexes, changes in memory, and snapshots on disk."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from reflink.blocking.locators import BY_YEAR, MAX_SHARING, RULES, reference_places
from reflink.catalog import doubtful, snapshot, titles
from reflink.catalog.doubtful import VenuesByCode
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.snapshot import Manifest
from reflink.catalog.works import Works
from reflink.catalog.writing import writing
from reflink.encoders import Encodes
from reflink.entities import Ids, Reference, Work
from reflink.errors import SnapshotError, UnusableSnapshot
from reflink.journals.table import Journals
from reflink.storage import flatfiles
from reflink.storage.hashtable import HashTableBuilder
from reflink.text import SEP, Mode, work_text

if TYPE_CHECKING:
    from reflink.lexical import LexicalIndex
    from reflink.semantic import VectorIndex

WORKS: Final = "works"
VECTORS: Final = "vectors"
TRIGRAMS: Final = "trigrams"
TEXTS: Final = "texts"
JOURNALS: Final = "journals"


class Catalog:
    """Works, their identifiers and, optionally, a VectorIndex and a LexicalIndex over their representative texts.

    Every work has its own row in the indexes; callers map hits to canonical ids by ``canonical``. ``offset`` is the version:
    the first offset of the catalog topic that is not applied, 0 if built from a file. ``manifest`` describes the opened
    snapshot and the parameters of the indexes. ``journals``: the table of journals, None without one; it stays as it is when
    works change. Only one thread may write at a time, and no other thread may read meanwhile.
    """

    def __init__(
        self,
        works: Works,
        vectors: VectorIndex | None,
        trigrams: LexicalIndex | None,
        manifest: Manifest,
        journals: Journals | None = None,
    ) -> None:
        self.works, self.vectors, self.trigrams, self.manifest, self.journals = works, vectors, trigrams, manifest, journals
        self.offset = manifest.offset

    @classmethod
    def empty(
        cls,
        *,
        dim: int | None = None,
        model: str | None = None,
        precision: str | None = None,
        mode: Mode = "TVL",
        separator: str = SEP,
        lexical_mode: Mode | None = "Raw",
    ) -> Self:
        """Return a catalog without works; without vectors if ``dim`` is None, without trigrams if ``lexical_mode`` is None."""
        manifest = Manifest(
            model=model, precision=precision, mode=mode, separator=separator, lexical_mode=lexical_mode or "Raw"
        )
        vectors = None if dim is None else _semantic().VectorIndex(dim)
        return cls(Works(), vectors, None if lexical_mode is None else _lexical().LexicalIndex(lexical_mode), manifest)

    @classmethod
    def open(cls, folder: str | Path, *, vectors: bool = True, trigrams: bool = True, verify: bool = False) -> Self:
        """Open the snapshot in ``folder``, without its vectors or trigrams if ``vectors`` or ``trigrams`` is False.

        With ``verify`` the content of the opened files is compared with their checksums, otherwise only their sizes. Raises
        SnapshotError if the snapshot is missing, UnusableSnapshot if it is unfinished, damaged or of another format.
        """
        folder = Path(folder)
        parts = [WORKS, JOURNALS, *[VECTORS] * vectors, *[TRIGRAMS] * trigrams]
        manifest = snapshot.verify(folder, parts) if verify else snapshot.read(folder)
        try:
            works = MappedWorks.open(folder / WORKS)
            journals = None if manifest.journals is None else Journals.open(folder / JOURNALS)
            vector_index, trigram_index = None, None
            if vectors and manifest.vectors is not None:
                vector_index = _semantic().VectorIndex.open(folder / VECTORS)
            if trigrams and manifest.trigrams is not None:
                trigram_index = _lexical().LexicalIndex.open(folder / TRIGRAMS, mode=manifest.lexical_mode)
        except (OSError, ValueError, EOFError) as error:
            raise UnusableSnapshot(f"{folder}: damaged: {error}") from None
        counts: tuple[tuple[str, Any, int | None], ...] = (
            (WORKS, works, manifest.works),
            (VECTORS, vector_index, manifest.vectors),
            (TRIGRAMS, trigram_index, manifest.trigrams),
        )
        for name, part, expected in counts:
            if part is not None and len(part) != expected:
                raise UnusableSnapshot(f"{folder}: damaged: {name} hold {len(part)} works, not {expected}")
        return cls(Works(works), vector_index, trigram_index, manifest, journals)

    def __len__(self) -> int:
        return len(self.works)

    def __contains__(self, work_id: object) -> bool:
        return work_id in self.works

    def __iter__(self) -> Iterator[Work]:
        return iter(self.works)

    def get(self, work_id: str) -> Work | None:
        """Return the work with exactly this id, or None."""
        return self.works.get(work_id)

    def canonical(self, work_id: str) -> str:
        """Return the canonical id of ``work_id``; ``work_id`` itself if no work has it as id or identifier."""
        return self.works.canonical(work_id)

    def lookup(self, ids: Ids) -> tuple[str, ...]:
        """Return the canonical ids of the works with any of the identifiers, ascending; several if the identifiers disagree."""
        bearers = [next(iter(found)) for key in ids.keys() if (found := self.works.bearers(key))]  # noqa: SIM118 - not a mapping
        return tuple(sorted({*map(self.canonical, bearers)}))

    def places(self, reference: Reference, most: int = MAX_SHARING) -> tuple[str, ...]:
        """Return the ids of works with the reference's locator: first those with its first author, then others, each ascending.

        Keys (reflink.blocking.locators) that more than ``most`` works share are ignored. Ids are of single works, not
        canonical.
        """
        found = self.works.at_places(reference_places(reference), most)
        return tuple(sorted(found, key=lambda work_id: (found[work_id].startswith(BY_YEAR), work_id)))

    def changed(self, works: Iterable[Work]) -> list[Work]:
        """Return the works that ``add`` would add or replace: the last one of each id, unless the catalog has it unchanged."""
        latest = {work.id: work for work in works}
        return [work for work in latest.values() if self.works.get(work.id) != work]

    def unencoded(self, works: Iterable[Work]) -> list[Work]:
        """Return the works of ``changed`` whose text is new, so that a vector is needed. Empty without a VectorIndex."""
        if self.vectors is None:
            return []
        return [work for work in self.changed(works) if self._is_new(work, self.vectors, self.semantic_text)]

    def add(self, works: Sequence[Work], vectors: NDArray[np.floating[Any]] | None = None) -> int:
        """Add works or replace works with the same id (the last one counts); return the number of changed works.

        ``vectors``: float [len(works), dim], L2-normalised; may be None if ``unencoded(works)`` is empty. Raises ValueError,
        and changes nothing, if vectors are missing or of another shape.
        """
        index = self.vectors
        if index is None or vectors is None:
            missing = self.unencoded(works)
            if missing:
                raise ValueError(f"{len(missing)} works need vectors, {missing[0].id} the first: use add_encoded")
            return self._add(self.changed(works), [], None)
        if vectors.shape != (len(works), index.dim):
            raise ValueError(f"vectors of shape {vectors.shape} for {len(works)} works in {index.dim} dimensions")
        rows = {work.id: row for row, work in enumerate(works)}
        changed = self.changed(works)
        return self._add(changed, changed, vectors[[rows[work.id] for work in changed]])

    def add_encoded(self, works: Sequence[Work], encoder: Encodes) -> int:
        """Add works like ``add``, encoding those that ``unencoded`` returns."""
        vectors = encoder.encode([*map(self.semantic_text, new)]) if (new := self.unencoded(works)) else None
        return self._add(self.changed(works), new, vectors)

    def add_unencoded(self, works: Sequence[Work]) -> list[Work]:
        """Add works like ``add`` but without vectors; return those of ``unencoded``, whose old vectors are removed."""
        new = self.unencoded(works)
        if self.vectors is not None:
            self.vectors.remove([work.id for work in new])
        self._add(self.changed(works), [], None)
        return new

    def encode(self, works: Sequence[Work], encoder: Encodes) -> None:
        """Add or replace the vectors of works of the catalog."""
        assert self.vectors is not None
        self.vectors.add([work.id for work in works], encoder.encode([self.semantic_text(work) for work in works]))

    def remove(self, ids: Iterable[str]) -> int:
        """Remove the works with these ids; return the number of removed works."""
        present = [work for work_id in dict.fromkeys(ids) if (work := self.works.get(work_id)) is not None]
        if present and self.vectors is not None:
            self.vectors.remove([work.id for work in present])
        if present and self.trigrams is not None:
            self.trigrams.remove([text_id for work in present for text_id in self.lexical_texts(work)])
        return sum(self.works.delete(work.id) for work in present)

    @property
    def mode(self) -> Mode:
        """The mode of the texts of the vectors."""
        return self.manifest.mode

    @property
    def separator(self) -> str:
        """The separator between the fields of the texts of the vectors."""
        return self.manifest.separator

    def semantic_text(self, work: Work) -> str:
        """Return the text of which a work's vector is computed."""
        return work_text(work, self.mode, lexical=False, separator=self.separator)

    @property
    def lexical_mode(self) -> Mode:
        """The mode of the texts in the trigram index."""
        return self.manifest.lexical_mode

    def lexical_texts(self, work: Work) -> dict[str, str]:
        """Return the texts of a work in the trigram index by their ids there, one for each of its titles."""
        return titles.lexical_texts(work, self.lexical_mode)

    def check_model(self, model: str | None, mode: Mode, precision: str | None, separator: str) -> None:
        """Raise SnapshotError unless the vectors are of this model and precision, from texts of this mode and separator."""
        if self.vectors is None:
            raise SnapshotError("the catalog has no vectors: build it with them, or open it with vectors=True")
        self.manifest.check_model(model, mode, precision, separator)

    def save(
        self,
        folder: str | Path,
        *,
        cluster: str | None = None,
        topic: str | None = None,
        offset: int | None = None,
        keep_previous: bool = True,
    ) -> Manifest:
        """Write a snapshot of the current state, base and changes merged, in place of the snapshot in ``folder``.

        The replaced snapshot is kept as ``FOLDER.previous``, unless ``keep_previous`` is False. An index that was not opened is
        not written. ``cluster``, ``topic`` and ``offset`` (default: ``self.offset``) record where a worker continues reading.
        Raises SnapshotError if ``folder`` holds something else, and OSError if writing fails.
        """
        manifest = self.manifest.model_copy(
            update={
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "works": len(self),
                "place_rules": RULES,
                "journals": None if self.journals is None else len(self.journals),
                "vectors": None if self.vectors is None else len(self.vectors),
                "trigrams": None if self.trigrams is None else len(self.trigrams),
                "cluster": cluster,
                "topic": topic,
                "topic_id": None,
                "offset": self.offset if offset is None else offset,
            }
        )
        folder = Path(folder)
        with snapshot.publish(folder, manifest, keep_previous=keep_previous) as new:
            texts, venues = HashTableBuilder(folder=new), VenuesByCode()
            with writing(self.works, new / WORKS) as append:
                for row, work in enumerate(self.works):
                    append(work)
                    venues.add(work)
                    if self.vectors is not None:
                        texts.add(self.semantic_text(work), row)
            written = MappedWorks.open(new / WORKS)
            doubtful.write(new, ((written.work(row).id, venue, own) for row, venue, own in venues.doubtful()))
            if self.journals is not None:
                self.journals.save(new / JOURNALS)
            if self.vectors is not None:
                flatfiles.save(new / TEXTS, TEXTS, {}, texts.build().arrays())
                self.vectors.save(new / VECTORS)
            if self.trigrams is not None:
                self.trigrams.save(new / TRIGRAMS)
        return snapshot.read(folder)

    def _add(self, changed: Sequence[Work], encoded: Sequence[Work], vectors: NDArray[np.floating[Any]] | None) -> int:
        if self.vectors is not None and vectors is not None and encoded:
            self.vectors.add([work.id for work in encoded], vectors)
        if self.trigrams is not None:
            new = [work for work in changed if self._is_new(work, self.trigrams, self.lexical_texts)]
            texts = {text_id: text for work in new for text_id, text in self.lexical_texts(work).items()}
            replaced = [before for work in new if (before := self.works.get(work.id)) is not None]
            if gone := [text_id for work in replaced for text_id in self.lexical_texts(work) if text_id not in texts]:
                self.trigrams.remove(gone)
            if texts:
                self.trigrams.add(list(texts), list(texts.values()))
        return sum(map(self.works.put, changed))

    def _is_new(self, work: Work, index: VectorIndex | LexicalIndex, text: Callable[[Work], object]) -> bool:
        before = self.works.get(work.id) if work.id in index else None
        return before is None or text(before) != text(work)


# The index modules are imported on first use, so that a catalog without vectors does not wait for the import of torch.


def _semantic() -> ModuleType:
    return importlib.import_module("reflink.semantic")


def _lexical() -> ModuleType:
    return importlib.import_module("reflink.lexical")
