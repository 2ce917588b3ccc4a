"""Fill a new index from a snapshot of the catalog, with several requests at a time: the topic has one reader."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from reflink.catalog import Catalog
from reflink.entities import Work
from workers.config.indexer import IndexerSettings
from workers.engine.errors import EngineUnavailable
from workers.engine.index import Index
from workers.telemetry import metrics

log = logging.getLogger(__name__)

_RETRY_S: Final = 1.0
#: A refresh after millions of works.
_REFRESH_S: Final = 600.0
_LOGGED: Final = 20

T = TypeVar("T")


def fill(
    index: Index, catalog: Catalog, settings: IndexerSettings, wanted: Callable[[], bool], progress: Callable[[int], object]
) -> bool:
    """Write all works of a snapshot and raise the watermark to its offset. Return False if it was no longer ``wanted``.

    ``progress`` receives the number of works written so far. A work gets the version of the snapshot's last record, so every
    later record replaces it. An engine that does not answer is tried again. Raises NotFound if the index is deleted.
    """
    version, done, refused = catalog.offset - 1, 0, 0

    def tried(request: Callable[[], T], instead: T) -> T:
        while True:
            try:
                return request()
            except EngineUnavailable as error:
                if not wanted():
                    return instead
                log.warning("filling the index: a request failed, trying again", extra={"detail": str(error)})
                time.sleep(_RETRY_S)

    def send(works: list[Work]) -> int:
        nothing: list[tuple[str, str]] = []
        found = tried(lambda: index.apply([(version, work) for work in works]), nothing)
        for work_id, reason in found[:_LOGGED]:
            log.error("the search engine refuses a work", extra={"work": work_id[:200], "detail": reason})
        return len(found)

    with ThreadPoolExecutor(settings.index_requests, thread_name_prefix="bulk") as pool:
        sent: list[tuple[Future[int], int]] = []
        for works in _batches(catalog, settings.index_works):
            if not wanted():
                break
            sent.append((pool.submit(send, works), len(works)))
            if len(sent) > settings.index_requests:
                future, count = sent.pop(0)
                refused += future.result()
                done += count
                progress(done)
        refused += sum(future.result() for future, _ in sent)
    if not wanted():
        return False
    metrics.ENGINE_REFUSED.inc(refused)
    tried(lambda: index.publish(catalog.offset, _REFRESH_S), None)
    return wanted()


def _batches(catalog: Catalog, size: int) -> Iterator[list[Work]]:
    batch: list[Work] = []
    for work in catalog:
        batch.append(work)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
