"""Filling the catalog topic from works, and binding a catalog folder to the topic it fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from reflink.catalog import Catalog, snapshot
from reflink.entities import Work
from reflink.errors import SnapshotError
from schemas import SCHEMA_VERSION, CatalogEvent
from workers.clients import end_of
from workers.sending import Sender
from workers.settings import KafkaSettings
from workers.topics import TopicAdmin

#: Hears how many works were sent so far.
Progress = Callable[[int], object]


def load(works: Iterable[Work], settings: KafkaSettings, progress: Progress = lambda _: None) -> int:
    """Sends every work to the catalog topic, in order; returns how many. Raises NotSent."""
    with Sender(settings) as sender:
        for work in works:
            event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work)
            sender.send("catalog", work.id.encode(), event.to_json(), partition=0)
            if sender.sent % 1000 == 0:
                progress(sender.sent)
        progress(sender.sent)
    return sender.sent


def load_and_bind(works: Iterable[Work], folder: Path, settings: KafkaSettings, progress: Progress = lambda _: None) -> int:
    """As ``load``, into an empty topic, of exactly the works of a catalog folder; that becomes a snapshot of the topic.

    Workers then start from the folder instead of reading, and encoding, every work from the topic. Raises SnapshotError, and
    binds nothing, when the topic was not empty or the folder holds other works.
    """
    catalog = Catalog.open(folder, vectors=False, trigrams=False, verify=True)
    topic = settings.topic("catalog")
    if end := end_of(settings, "catalog"):
        raise SnapshotError(
            f"{topic} has {end} events already and a folder is bound to a topic that it fills: load without --bind, "
            "or choose another REFLINK_TOPIC_PREFIX"
        )
    seen: set[str] = set()
    count = load(_as_in(catalog, folder, works, seen), settings, progress)
    if len(seen) != len(catalog):
        other = next(work.id for work in catalog if work.id not in seen)
        raise SnapshotError(
            f"{len(catalog) - len(seen)} of {len(catalog)} works in {folder} are not as the file has them, {other} for one: it "
            "was built from another file, or by an older reflink; load the file without --bind, then `reflink-worker snapshot "
            f"--from {folder}` takes the vectors that are there"
        )
    with TopicAdmin(settings) as admin:
        cluster, topic_id = admin.cluster_id(), admin.topic_ids(["catalog"])["catalog"]
    snapshot.bind(folder, cluster=cluster, topic=topic, offset=end_of(settings, "catalog"), topic_id=topic_id)
    return count


def _as_in(catalog: Catalog, folder: Path, works: Iterable[Work], seen: set[str]) -> Iterator[Work]:
    """Each work once, as the folder has it: of lines with the same id the last one counts, as it did when it was built."""
    for work in works:
        kept = catalog.get(work.id)
        if kept is None:
            raise SnapshotError(f"{folder} does not hold {work.id}: build the folder from this file")
        if kept == work and work.id not in seen:
            seen.add(work.id)
            yield work
