"""The index of works in the search engine: creation, updates, alias and watermark.

Invariants:
1. A document has the external version (offset of its record) + 1. The engine refuses a write that is older than the document,
   so delayed writes, also of two indexers at once, change nothing. A write of the same version is done again, so that its
   acknowledgement counts for all copies; a writer that meets newer documents leaves the watermark to the other one for a while.
2. The watermark is an offset of the topic ``catalog``: all copies in sync have all records before it. It is written after a
   refresh of all shards that followed the acknowledgement of these records, and it only rises. A copy that is out of sync, as
   that of a node that was paused until its cluster removed it, may still answer searches. Each shard therefore has a mark, a
   document that is written after these records and becomes visible with them. A search returns the marks of the copies that it
   used, and counts only if none is below the watermark (searches.py).
3. Records up to the watermark survive the loss of every node but one copy of each shard: a write is acknowledged by all copies
   in sync. Copies that follow by segments (``replication.type: SEGMENT``) would show a search older states, so the index
   demands copies by documents.
4. The alias names one index. A reader resolves it together with the watermark and searches that index by its own name, so the
   watermark holds for its search also while the alias moves.
5. An index has only documents since its creation: writes go to an alias of the index's own and require that alias. Engines
   otherwise create an index that was deleted again on the next write, without its mapping and without the earlier works.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from reflink.entities import Work
from workers.engine import documents
from workers.engine.client import Engine, lines
from workers.engine.errors import Conflict, EngineRefused, NotFound
from workers.engine.origin import Origin

#: Version of the documents and of the folding of their words. An index of another version is built again.
FORMAT: Final = 1
_CREATED_S: Final = 60.0
#: Limit of the engines for the id of a document.
_MAX_ID_BYTES: Final = 512


@dataclass(frozen=True)
class Version:
    """An index by its own name, and its watermark: it has all records of the topic before ``offset``, in ``shards`` shards."""

    index: str
    offset: int
    shards: int = 1


def version(engine: Engine, name: str) -> Version:
    """Return the index behind an alias (or an index itself) and its watermark. Raises NotFound if there is none yet."""
    found = engine.call("watermark", "GET", f"/{quoted(name)}/_doc/{quoted(documents.WATERMARK)}")
    try:
        watermark = found["_source"]["watermark"]
        return Version(found["_index"], int(watermark["offset"]), int(watermark["shards"]))
    except (KeyError, TypeError, ValueError):
        raise NotFound(f"{name}: no watermark") from None


class Index:
    """An index under its own name, for its writer."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        #: Whether ``apply`` met a newer document since this was set to False: another writer is ahead.
        self.conflicts = False
        self._routings: list[str] = []

    @classmethod
    def create(cls, engine: Engine, alias: str, origin: Origin, *, shards: int, replicas: int) -> Index:
        """Create an empty index with the watermark 0. It is behind no alias yet."""
        name = f"{alias}-{datetime.now(UTC):%Y%m%d%H%M%S%f}"
        settings: dict[str, Any] = {"number_of_shards": shards, "number_of_replicas": replicas, "refresh_interval": "-1"}
        settings["translog.durability"] = "request"  # an acknowledged write is on disk
        if _is_opensearch(engine):
            settings["replication.type"] = "DOCUMENT"
        meta = {"format": FORMAT, **origin._asdict()}
        body = {
            "settings": {"index": settings},
            "mappings": {**documents.MAPPINGS, "_meta": meta},
            "aliases": {_writes(name): {}},
        }
        engine.call("index", "PUT", f"/{quoted(name)}", body, timeout_s=_CREATED_S)
        index = cls(engine, name)
        index.publish(0)
        return index

    def check(self, origin: Origin | None) -> None:
        """Raise EngineRefused if the index was made by another version of reflink, or from another topic (None: any)."""
        found = self.engine.call("index", "GET", f"/{quoted(self.name)}/_mapping")
        meta = found[self.name]["mappings"].get("_meta", {})
        again = "build it again with `reflink-worker reindex`"
        if meta.get("format") != FORMAT:
            raise EngineRefused(f"index {self.name} has format {meta.get('format')!r}, this version reads {FORMAT}: {again}")
        if origin is None:
            return
        made = Origin(*(meta.get(field) for field in Origin._fields))
        if (made.cluster, made.topic) != (origin.cluster, origin.topic):
            raise EngineRefused(
                f"index {self.name} was made from {made.topic} on cluster {made.cluster}, but this worker follows "
                f"{origin.topic} on cluster {origin.cluster}: set another REFLINK_ENGINE_INDEX"
            )
        if None not in (made.topic_id, origin.topic_id) and made.topic_id != origin.topic_id:
            raise EngineRefused(
                f"index {self.name} was made from a deleted topic {made.topic}, which was created anew: {again}"
            )

    def apply(self, changes: Sequence[tuple[int, Work | str]]) -> list[tuple[str, str]]:
        """Write changes, each with its offset: a work, or the id of a work that left. Return refused works with the reason.

        Raises EngineUnavailable if any change may have been lost; repeating all of them is harmless. Raises NotFound if the
        index was deleted.
        """
        if not changes:
            return []
        body: list[object] = []
        for offset, change in changes:
            work_id = change if isinstance(change, str) else change.id
            body.append({"index": {"_id": _document_id(work_id), "version": offset + 1, "version_type": "external_gte"}})
            body.append(documents.gone(change) if isinstance(change, str) else documents.document(change))
        refused = []
        for (_, change), (status, reason) in zip(changes, self._bulk(body), strict=True):
            if status < 300:
                continue
            if status == 409:  # the document is newer
                self.conflicts = True
            elif status == 400:  # only what the document contains can be its fault
                refused.append((change if isinstance(change, str) else change.id, reason))
            else:
                raise self.engine.refused(reason) if status in (401, 403) else self.engine.unavailable("bulk", reason)
        return refused

    def publish(self, offset: int, timeout_s: float | None = None) -> None:
        """Make all acknowledged writes visible, in every copy, and raise the watermark. A higher watermark stays.

        ``timeout_s``: maximum duration of the refresh. Raises EngineUnavailable if a copy fails, and NotFound.
        """
        self.write_marks(offset)
        self.refresh(timeout_s)
        self.write_watermark(offset)

    def write_marks(self, offset: int) -> None:
        """Raise the mark of each shard. Call it when all records before ``offset`` are acknowledged. Higher marks stay."""
        version = {"version": offset + 1, "version_type": "external_gte"}
        body: list[object] = []
        for routing in self._marks():
            body += [{"index": {"_id": f"{documents.MARK}{routing}", "routing": routing, **version}}, documents.mark(offset)]
        for status, reason in self._bulk(body):
            if status >= 300 and status != 409:
                raise self.engine.unavailable("bulk", reason)

    def refresh(self, timeout_s: float | None = None) -> None:
        """Make all acknowledged writes visible to searches of every copy. Raises EngineUnavailable if a copy failed."""
        copies = self.engine.call("refresh", "POST", f"/{quoted(self.name)}/_refresh", timeout_s=timeout_s)["_shards"]
        # A shard without any copy does not count as failed.
        if copies["failed"] or copies["successful"] < len(self._marks()):
            raise self.engine.unavailable("refresh", f"only {copies['successful']} of {copies['total']} copies were refreshed")

    def write_watermark(self, offset: int) -> None:
        """Raise the watermark. Call it after ``refresh`` only. A higher watermark stays. Raises NotFound."""
        target = f"/{quoted(_writes(self.name))}/_doc/{quoted(documents.WATERMARK)}"
        watermark = {"offset": offset, "shards": len(self._marks())}
        with suppress(Conflict):
            self.engine.call(
                "watermark",
                "PUT",
                f"{target}?require_alias=true&version={offset + 1}&version_type=external",
                {"watermark": watermark},
            )

    def _bulk(self, body: Sequence[object]) -> Iterator[tuple[int, str]]:
        """Send a bulk request; yield the status of each write and the reason of its failure. Raises NotFound."""
        target = f"/{quoted(_writes(self.name))}/_bulk?require_alias=true&filter_path=errors,items.*.status,items.*.error"
        for item in self.engine.call("bulk", "POST", target, lines(body)).get("items", ()):
            (result,) = item.values()
            error = result.get("error", {})
            reason = f"{error.get('type')}: {error.get('reason')}"
            if result["status"] == 404:
                raise NotFound(f"{self.name}: {reason}")
            yield result["status"], reason

    def _marks(self) -> list[str]:
        """Return a routing value for each shard, in order of the shards: the id of the shard's mark."""
        if not self._routings:
            found = self.engine.call("index", "GET", f"/{quoted(self.name)}/_settings")
            shards = int(found[self.name]["settings"]["index"]["number_of_shards"])
            routings: dict[int, str] = {}
            for routing in map(str, count()):
                if len(routings) == shards:
                    break
                target = f"/{quoted(self.name)}/_search_shards?routing={routing}"
                ((copy, *_),) = self.engine.call("index", "GET", target)["shards"]
                routings.setdefault(int(copy["shard"]), routing)
            self._routings = [routings[shard] for shard in sorted(routings)]
        return self._routings

    def serve(self, alias: str) -> list[str]:
        """Let the alias name this index only, in one step. Return the indexes that it named before.

        The step removes the alias from every index, also from one that another indexer lets serve at the same time.
        """
        before = [name for name in names(self.engine, alias) if name != self.name]
        actions = [
            {"remove": {"index": f"{alias}-*", "alias": alias, "must_exist": False}},
            {"add": {"index": self.name, "alias": alias}},
        ]
        self.engine.call("index", "POST", "/_aliases", {"actions": actions})
        # A former index whose deletion fails is not an unfinished one.
        meta = self.engine.call("index", "GET", f"/{quoted(self.name)}/_mapping")[self.name]["mappings"].get("_meta", {})
        self.engine.call("index", "PUT", f"/{quoted(self.name)}/_mapping", {"_meta": {**meta, "served": True}})
        return before

    def delete(self) -> None:
        """Delete the index, if it exists."""
        with suppress(NotFound):
            self.engine.call("index", "DELETE", f"/{quoted(self.name)}", timeout_s=_CREATED_S)


def names(engine: Engine, alias: str) -> list[str]:
    """Return the names of the indexes behind the alias: one, or none before the first index serves."""
    try:
        return sorted(engine.call("index", "GET", f"/_alias/{quoted(alias)}"))
    except NotFound:
        return []


def unfinished(engine: Engine, alias: str, origin: Origin) -> Index | None:
    """Return the newest index of this topic that was made for the alias and never served; None if there is none."""
    found = engine.call("index", "GET", f"/{quoted(alias)}-*/_mapping?ignore_unavailable=true&allow_no_indices=true")
    served = set(names(engine, alias))
    for name in sorted(found, reverse=True):
        meta = found[name]["mappings"].get("_meta", {})
        own = name.removeprefix(f"{alias}-").isdigit()  # not of another alias that begins with this one
        if own and name not in served and meta == {"format": FORMAT, **origin._asdict()}:
            index = Index(engine, name)
            index.publish(0)  # its maker may have ended before it wrote one
            return index
    return None


def _is_opensearch(engine: Engine) -> bool:
    return bool(engine.call("index", "GET", "/")["version"].get("distribution") == "opensearch")


def _writes(name: str) -> str:
    """Return the alias of an index that only writes use."""
    return f"{name}.writes"


def quoted(name: str) -> str:
    """Return a name as a part of a path."""
    return quote(name, safe="")


def _document_id(work_id: str) -> str:
    """Return the id of a work's document: the work's id, or a hash of it if it is too long or could be the watermark's."""
    encoded = work_id.encode()
    plain = len(encoded) <= _MAX_ID_BYTES and not work_id.startswith("~")
    return work_id if plain else "~" + blake2b(encoded, digest_size=32).hexdigest()
