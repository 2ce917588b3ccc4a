"""Load works into the catalog topic, and bind a catalog folder to the topic that was loaded from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from reflink.catalog import Catalog, snapshot
from reflink.entities import Work
from reflink.errors import SnapshotError
from schemas import SCHEMA_VERSION, CatalogEvent
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.clients import end_of
from workers.kafka.topics import TopicAdmin

#: Callback that receives the number of works sent so far.
Progress = Callable[[int], object]


def load(works: Iterable[Work], settings: KafkaSettings, progress: Progress = lambda _: None) -> int:
    """Send every work to the catalog topic, in order. Return their number. Raises NotSent."""
    with Sender(settings) as sender:
        for work in works:
            event = CatalogEvent(schema_version=SCHEMA_VERSION, work=work)
            sender.send("catalog", work.id.encode(), event.to_json(), partition=0)
            if sender.sent % 1000 == 0:
                progress(sender.sent)
        progress(sender.sent)
    return sender.sent


def load_and_bind(works: Iterable[Work], folder: Path, settings: KafkaSettings, progress: Progress = lambda _: None) -> int:
    """Load exactly the works of a catalog folder into an empty topic, and make the folder a snapshot of the topic.

    Workers can then start from the folder instead of reading and encoding every work from the topic. Raises NotSent, and
    SnapshotError, without binding the folder, if the topic is not empty or the folder holds other works.
    """
    catalog = Catalog.open(folder, vectors=False, trigrams=False, verify=True)
    topic = settings.topic("catalog")
    if end := end_of(settings, "catalog"):
        raise SnapshotError(
            f"{topic} is not empty ({end} events), but --bind requires an empty topic: load without --bind, "
            "or choose another REFLINK_TOPIC_PREFIX"
        )
    seen: set[str] = set()
    count = load(_as_in(catalog, folder, works, seen), settings, progress)
    if len(seen) != len(catalog):
        other = next(work.id for work in catalog if work.id not in seen)
        raise SnapshotError(
            f"{len(catalog) - len(seen)} of {len(catalog)} works in {folder} differ from the file, e.g. {other}: the folder "
            "was built from another file, or by an older reflink; load the file without --bind, then `reflink-worker snapshot "
            f"--from {folder}` reuses the folder's vectors"
        )
    with TopicAdmin(settings) as admin:
        cluster, topic_id = admin.cluster_id(), admin.topic_ids(["catalog"])["catalog"]
    snapshot.bind(folder, cluster=cluster, topic=topic, offset=end_of(settings, "catalog"), topic_id=topic_id)
    return count


def _as_in(catalog: Catalog, folder: Path, works: Iterable[Work], seen: set[str]) -> Iterator[Work]:
    """Yield each work once, as the folder has it: of several lines with one id the last counts, as in building the folder."""
    for work in works:
        kept = catalog.get(work.id)
        if kept is None:
            raise SnapshotError(f"{folder} does not contain {work.id}: build the folder from this file")
        if kept == work and work.id not in seen:
            seen.add(work.id)
            yield work
