"""What curators say of references: the topic ``overrides``, read and written."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from reflink.entities import ID_KINDS, Ids
from reflink.errors import BadRecord, ReflinkError
from reflink.identifiers import NORMALISERS
from reflink.workids import work_id
from schemas import SCHEMA_VERSION, LinkEvent, OverrideEvent
from workers.replay.ranges import Range
from workers.sending import Sender
from workers.settings import KafkaSettings
from workers.topics import TopicAdmin, partition_of

TOPIC: Final = "overrides"
#: Hears how many records of how many offsets were read.
Progress = Callable[[int, int], object]
#: A reference's newest link, or None when it is not there, or not any more.
Found = Mapping[str, LinkEvent | None]

_TELL_EVERY: Final = 5000


class BadOverride(ReflinkError):
    """An override that cannot be meant; says why, and how it could be."""


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def partitions_of(settings: KafkaSettings) -> int:
    """Of ``overrides`` and ``links``, which have as many as each other. Raises WrongTopic."""
    with TopicAdmin(settings) as admin:
        return admin.check([TOPIC, "links"])[TOPIC].partitions


def reference_id(text: str) -> str:
    """The id of a reference as links have it. Raises BadOverride."""
    citing, mark, name = text.partition("#")
    if not (citing and mark and name and text.isprintable()):
        raise BadOverride(
            f"{text!r} is no reference: it must be the paper's id, '#' and the reference's name, as the keys of links are, "
            "e.g. doi:10.5555/a.paper#B12.1"
        )
    return text


def normal_work(text: str, *, any_name: bool = False) -> str:
    """The id of a work, normalised as the catalog has it. ``any_name``: also one of a source that is no ``kind:value``.

    Raises BadOverride.
    """
    kind, colon, value = text.strip().partition(":")
    if not text.strip() or "#" in text:
        raise BadOverride(f"{text!r} is no work id: doi:…, pmid:…, pmcid:…, arxiv:…, or as its source calls it")
    if kind.lower() in ID_KINDS:
        if NORMALISERS[kind.lower()](value) is None:
            raise BadOverride(f"{text!r} is no work id: {value!r} is no {kind.lower()}")
    elif not any_name and not (colon and kind and value and not value.startswith("//")):
        raise BadOverride(
            f"{text!r} is no work id: doi:…, pmid:…, pmcid:…, arxiv:…, or another kind and a colon; --force if a source calls "
            "its works so"
        )
    return work_id(Ids(), text)


def made(
    reference: str,
    *,
    reason: str,
    by: str | None,
    pinned: str | None = None,
    nothing: bool = False,
    forbidden: Iterable[str] = (),
    at: int | None = None,
    force: bool = False,
) -> OverrideEvent:
    """The event, checked: ``force`` lets pass what is most probably a mistake. Raises BadOverride."""
    reference = reference_id(reference)
    citing = reference.partition("#")[0]
    pinned = None if pinned is None else normal_work(pinned, any_name=force)
    works = tuple(sorted({normal_work(each, any_name=force) for each in forbidden}))
    if pinned is not None and pinned == normal_work(citing, any_name=True) and not force:
        raise BadOverride(f"{reference} would cite its own paper, {pinned}: --force if that is meant")
    if not reason.strip():
        raise BadOverride(f"{reference}: a reason must be given: whoever looks at the link later has nothing else")
    try:
        return OverrideEvent.from_dict(
            {
                "schema_version": SCHEMA_VERSION,
                "reference": reference,
                "pinned": pinned,
                "nothing": nothing,
                "forbidden": works,
                "reason": reason.strip(),
                "by": by,
                "at": now_ms() if at is None else at,
            }
        )
    except BadRecord as error:
        raise BadOverride(f"{reference}: {error}") from None


def from_line(line: bytes, *, by: str | None, force: bool = False) -> OverrideEvent:
    """An override of a file, JSON without ``schema_version`` and ``at`` (kept where they are there). Raises BadOverride."""
    try:
        told: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadOverride(f"not JSON: {error}") from None
    if not isinstance(told, dict):
        raise BadOverride("not a JSON object")
    if told.pop("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        raise BadOverride(f"schema_version must be {SCHEMA_VERSION} where it is there")
    try:  # types and what is missing; the values are looked at below
        read = OverrideEvent.from_dict({"at": now_ms(), **told, "schema_version": SCHEMA_VERSION})
    except BadRecord as error:
        raise BadOverride(str(error)) from None
    if unknown := sorted(read.model_extra or {}):
        raise BadOverride(f"no such field: {', '.join(unknown)}")
    return made(
        read.reference,
        reason=read.reason,
        by=read.by or by,
        pinned=read.pinned,
        nothing=read.nothing,
        forbidden=read.forbidden,
        at=read.at,
        force=force,
    )


def read_overrides(settings: KafkaSettings, partitions: int, citing: str | None = None) -> dict[str, OverrideEvent]:
    """All that hold, by reference; of one paper. Raises BadRecord for an event that is newer than this code, or none."""
    wanted = range(partitions) if citing is None else [partition_of(citing.encode(), partitions)]
    overrides: dict[str, OverrideEvent] = {}
    with Range(settings, TOPIC, list(wanted)) as records:
        for record in records:
            reference = (record.key or b"").decode("utf-8", "replace")
            overrides.pop(reference, None)
            if record.value is not None:
                overrides[reference] = OverrideEvent.from_json(record.value)
    return {reference: each for reference, each in overrides.items() if citing is None or reference.partition("#")[0] == citing}


def find_links(
    settings: KafkaSettings, partitions: int, references: Iterable[str], progress: Progress = lambda *_: None
) -> Found:
    """The newest link of each reference. Reads the whole partitions of ``links`` that hold them, which may take long."""
    found: dict[str, LinkEvent | None] = dict.fromkeys(references)
    keys = {reference.encode(): reference for reference in found}
    values: dict[str, bytes | None] = {}
    wanted = sorted({partition_of(key.partition(b"#")[0], partitions) for key in keys})
    with Range(settings, "links", wanted) as records:
        total = sum(records.ends.values()) - sum(records.oldest.values())
        for count, record in enumerate(records):
            if record.key in keys:
                values[keys[record.key]] = record.value
            if count % _TELL_EVERY == 0:
                progress(sum(records.positions.values()) - sum(records.oldest.values()), total)
        progress(total, total)
    found.update({reference: LinkEvent.from_json(value) for reference, value in values.items() if value is not None})
    return found


class Curator:
    """Writes overrides and waits until links show them. Use as a context manager, which waits for all acknowledgements."""

    def __init__(self, settings: KafkaSettings, partitions: int) -> None:
        self._settings, self._partitions = settings, partitions

    def write(
        self, overrides: Sequence[tuple[str, OverrideEvent | None]], progress: Callable[[int], object] = lambda _: None
    ) -> None:
        """Each reference and what shall hold of it; None lifts. Returns when all are acknowledged. Raises NotSent."""
        with Sender(self._settings) as sender:
            for reference, event in overrides:
                partition = partition_of(reference.partition("#")[0].encode(), self._partitions)
                sender.send(TOPIC, reference.encode(), None if event is None else event.to_json(), partition=partition)
                progress(sender.sent)

    def write_and_wait(self, reference: str, event: OverrideEvent | None, wait_s: float) -> LinkEvent | None:
        """Writes one, then reads links until the reference's shows it. None when it did not within ``wait_s`` seconds."""
        partition = partition_of(reference.partition("#")[0].encode(), self._partitions)
        with Range(self._settings, "links", [partition]) as before:
            starts = before.ends
        never = {partition: 2**62}
        with Range(self._settings, "links", [partition], positions=starts, ends=never, patience_s=math.inf) as links:
            self.write([(reference, event)])
            until = time.monotonic() + wait_s
            while time.monotonic() < until:
                for record in links.take(1000):
                    if record.key == reference.encode() and record.value is not None:
                        link = LinkEvent.from_json(record.value)
                        if shows(link, event):
                            return link
        return None


def shows(link: LinkEvent, event: OverrideEvent | None) -> bool:
    """Whether a link is one that an override made, or, of one that was lifted, one that none made."""
    if event is None:
        return link.curated is None
    return link.curated is not None and link.curated.at >= event.at
