"""The parts of a snapshot: the folders in it, and writing them from a catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reflink.catalog import doubtful
from reflink.catalog.doubtful import VenuesByCode
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.works import Works
from reflink.catalog.writing import writing
from reflink.entities import Work
from reflink.journals.table import Journals
from reflink.storage import flatfiles
from reflink.storage.hashtable import HashTableBuilder

if TYPE_CHECKING:
    from reflink.lexical import LexicalIndex
    from reflink.semantic import VectorIndex

WORKS: Final = "works"
VECTORS: Final = "vectors"
TRIGRAMS: Final = "trigrams"
TEXTS: Final = "texts"
JOURNALS: Final = "journals"


def write_parts(
    folder: Path,
    works: Works,
    text: Callable[[Work], str],
    *,
    vectors: VectorIndex | None,
    trigrams: LexicalIndex | None,
    journals: Journals | None,
) -> None:
    """Write works, and their indexes and journals unless None, to ``folder``. ``text``: what vectors encode. Raises OSError."""
    texts, venues = HashTableBuilder(folder=folder), VenuesByCode()
    with writing(works, folder / WORKS) as append:
        for row, work in enumerate(works):
            append(work)
            venues.add(work)
            if vectors is not None:
                texts.add(text(work), row)
    written = MappedWorks.open(folder / WORKS)
    doubtful.write(folder, ((written.work(row).id, venue, own) for row, venue, own in venues.doubtful()))
    if journals is not None:
        journals.save(folder / JOURNALS)
    if vectors is not None:
        flatfiles.save(folder / TEXTS, TEXTS, {}, texts.build().arrays())
        vectors.save(folder / VECTORS)
    if trigrams is not None:
        trigrams.save(folder / TRIGRAMS)
