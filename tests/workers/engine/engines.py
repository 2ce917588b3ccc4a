"""What the tests of the search engine share: settings, works, and an index of works."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from workers.config.engine import EngineSearchSettings
from workers.devkit.search_engine import SearchEngine
from workers.engine.candidates import EngineCandidates
from workers.engine.client import Engine
from workers.engine.index import Index, version
from workers.engine.origin import Origin

ORIGIN = Origin("cluster", "reflink.catalog", "id")


def alias() -> str:
    """Return a name that no other test uses."""
    return f"t{uuid.uuid4().hex[:10]}"


def settings(engine: SearchEngine, **more: Any) -> EngineSearchSettings:
    """Return the settings of the engine with an alias of its own."""
    chosen = {"engine": "opensearch", "engine_urls": ",".join(engine.urls), "engine_index": alias(), "engine_timeout_s": 30}
    return EngineSearchSettings(**{**chosen, **more})


def work(number: int, title: str, **fields: Any) -> Work:
    """Return a work with a DOI."""
    doi = f"10.5555/{number}"
    return Work(id=f"doi:{doi}", ids=Ids(doi=doi), title=title, **fields)


def cite(of: Work, number: int = 1, **changed: Any) -> Reference:
    """Return a reference with the work's fields, and with them as its text."""
    raw = f"{' '.join(of.authors)} {of.title}. {of.venue or ''} {of.year or ''} {of.volume or ''} {of.fpage or ''}"
    fields: dict[str, Any] = {"raw_text": raw, "title": of.title, "last_names": of.authors, "venue": of.venue, "year": of.year}
    fields |= {"volume": of.volume, "first_page": of.fpage, **changed}
    return Reference(id=f"doi:10.5555/c#{number}.1", citing="doi:10.5555/c", position=number, **fields)


def catalog_of(works: Sequence[Work]) -> Catalog:
    """Return a catalog of records and keys, whose version is the number of works."""
    made = Catalog.empty(lexical_mode=None)
    made.add(works)
    made.offset = len(works)
    return made


def indexed(chosen: EngineSearchSettings, works: Sequence[Work], *, shards: int = 1, replicas: int = 0) -> Index:
    """Return an index of the works, which serves."""
    index = Index.create(Engine(chosen), chosen.engine_index, ORIGIN, shards=shards, replicas=replicas)
    assert index.apply(list(enumerate(works))) == []
    index.publish(len(works))
    index.serve(chosen.engine_index)
    return index


def candidates(chosen: EngineSearchSettings, catalog: Catalog, *, hits: int = 20, wider_hits: int = 100) -> EngineCandidates:
    """Return candidates of the serving index."""
    engine = Engine(chosen)
    return EngineCandidates(engine, catalog, version(engine, chosen.engine_index), hits=hits, wider_hits=wider_hits)
