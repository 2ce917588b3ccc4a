"""Searches whose hits are kept on disk, so that a repeated run over the same works neither searches nor builds an index.

The hits of a search depend on the indexed texts and the query alone. The key of kept hits is a digest of both: changed works, a
changed normalisation or another model give other keys, and no entry becomes stale. Each batch is stored when it is complete, so
an interrupted run continues where it stopped. Several processes may share the file.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import orjson

from reflink.catalog import Catalog
from reflink.entities import Work
from reflink.evaluation.vectors import CachedEncoder
from reflink.journals.building import learned
from reflink.linking.policy import Policy
from reflink.text import SEP

#: Hits that are kept of each query: a search for fewer takes the first of them.
WIDTH: Final = 12
_DIGEST: Final = 16
_CHUNK: Final = 20_000
_VARIABLES: Final = 500
_WAIT_S: Final = 120.0

#: The hits of one query: (id, score), best first.
Near = list[tuple[str, float]]


#: A search for the k best hits of each query: (queries, k, floor, seeds), as of a trigram index; vectors ignore the last two.
Search = Callable[[Any, int, float | None, Sequence[Sequence[str]] | None], Iterable[Near]]


class KeptIndex:
    """An index whose hits are kept in a file; the index itself is built at the first query whose hits are not there.

    ``content``: digest of all that the hits depend on beside the query. ``count``: number of indexed works. Not thread-safe.
    """

    def __init__(self, path: Path, content: bytes, count: int, build: Callable[[], Search]) -> None:
        self._path, self._content, self._count, self._build = path, content, count, build
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as kept, kept:
            kept.execute("create table if not exists hits (key blob primary key, hits blob) without rowid")

    def __len__(self) -> int:
        return self._count

    def search(
        self, queries: Any, k: int, floor: float | None = None, seeds: Sequence[Sequence[str]] | None = None
    ) -> list[Near]:
        """Return the hits as the index does. ``queries``: texts, or vectors [n, dim]."""
        wide = max(k, WIDTH)
        keys = [self._key(query, wide, floor) for query in queries]
        found = self._kept(keys)
        if missing := [row for row, key in enumerate(keys) if key not in found]:
            wanted = queries[missing] if isinstance(queries, np.ndarray) else [queries[row] for row in missing]
            hits = self._search(wanted, wide, floor, None if seeds is None else [seeds[row] for row in missing])
            new = {keys[row]: near for row, near in zip(missing, hits, strict=True)}
            with closing(self._open()) as kept, kept:
                kept.executemany("insert or ignore into hits values (?, ?)", [(key, orjson.dumps(new[key])) for key in new])
            found |= new
        return [found[key][:k] for key in keys]

    @cached_property
    def _search(self) -> Search:
        return self._build()

    def _key(self, query: Any, wide: int, floor: float | None) -> bytes:
        data = query.encode() if isinstance(query, str) else np.ascontiguousarray(query, np.float32).tobytes()
        return hashlib.blake2b(self._content + f"{wide} {floor} ".encode() + data, digest_size=_DIGEST).digest()

    def _kept(self, keys: Sequence[bytes]) -> dict[bytes, Near]:
        found: dict[bytes, Near] = {}
        with closing(self._open()) as kept:
            for start in range(0, len(keys), _VARIABLES):
                part = keys[start : start + _VARIABLES]
                marks = ",".join("?" * len(part))
                for key, hits in kept.execute(f"select key, hits from hits where key in ({marks})", part):
                    found[key] = [(id_, score) for id_, score in orjson.loads(hits)]
        return found

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_WAIT_S)


def kept_catalog(works: Sequence[Work], encoder: CachedEncoder | None, folder: Path) -> Catalog:
    """Return a catalog in memory, with a table of journals, whose searches are kept under ``folder``.

    It has no vectors if ``encoder`` is None. No work may be added or removed later.
    """
    from reflink.lexical import LexicalIndex
    from reflink.semantic import VectorIndex

    policy = Policy()
    catalog = Catalog.empty(mode=policy.semantic_mode, separator=encoder.separator if encoder else SEP, lexical_mode=None)
    catalog.add(works)
    catalog.journals = learned(works)
    path, ids = folder / "searches.sqlite", [work.id for work in works]
    texts = {text_id: text for work in works for text_id, text in catalog.lexical_texts(work).items()}

    def trigrams() -> Search:
        index = LexicalIndex(policy.lexical_mode)
        index.add(list(texts), list(texts.values()))
        return index.search

    written = _content(["trigrams"], texts, texts.values())
    catalog.trigrams = cast(LexicalIndex, KeptIndex(path, written, len(texts), trigrams))
    if encoder is None:
        return catalog

    def vectors() -> Search:
        index = VectorIndex(encoder.dim)
        for start in range(0, len(works), _CHUNK):
            texts = [catalog.semantic_text(work) for work in works[start : start + _CHUNK]]
            index.add(ids[start : start + _CHUNK], encoder.encode(texts))
        return lambda queries, k, floor, seeds: index.search(queries, k)

    meant = _content(["vectors", encoder.name, encoder.precision], ids, map(catalog.semantic_text, works))
    catalog.vectors = cast(VectorIndex, KeptIndex(path, meant, len(ids), vectors))
    return catalog


def _content(parts: Iterable[str], ids: Iterable[str], texts: Iterable[str]) -> bytes:
    """Return a digest of the works that an index has, independent of their order."""
    digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=_DIGEST)
    for line in sorted(f"{id_}\0{text}\n" for id_, text in zip(ids, texts, strict=True)):
        digest.update(line.encode())
    return digest.digest()
