"""Reading and writing the topic ``overrides``: curators' decisions for references."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from reflink.entities import ID_KINDS, Ids
from reflink.errors import BadRecord, ReflinkError
from reflink.identifiers import NORMALISERS
from reflink.workids import work_id
from schemas import SCHEMA_VERSION, LinkEvent, OverrideEvent
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin, partition_of
from workers.ledger.override_reader import override_of

TOPIC: Final = "overrides"
#: Called with the number of offsets read and their total.
Progress = Callable[[int, int], object]
#: The newest link of each reference; None if it does not exist or was removed.
Found = Mapping[str, LinkEvent | None]


class BadOverride(ReflinkError):
    """An invalid override; the message gives the reason and a valid form."""


@dataclass(frozen=True)
class Refused:
    """A record of ``overrides`` that the ledger ignores, with its partition and the reason."""

    key: bytes
    partition: int
    reason: str

    @property
    def reference(self) -> str:
        """The key as text; bytes that are not UTF-8 or not printable are escaped."""
        text = self.key.decode("utf-8", "backslashreplace")
        return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


@dataclass(frozen=True)
class Listed:
    """Overrides in force, by reference, and refused records."""

    holding: Mapping[str, OverrideEvent]
    refused: Sequence[Refused]

    def of(self, citing: str | None) -> Listed:
        """Return the entries of one paper, or all entries for None."""
        if citing is None:
            return self
        begin = citing + "#"
        return Listed(
            {reference: each for reference, each in self.holding.items() if reference.startswith(begin)},
            [each for each in self.refused if each.reference.startswith(begin)],
        )


def now_ms() -> int:
    """Return the milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def partitions_of(settings: KafkaSettings) -> int:
    """Return the common partition count of ``overrides`` and ``links``. Raises WrongTopic."""
    with TopicAdmin(settings) as admin:
        return admin.check([TOPIC, "links"])[TOPIC].partitions


def reference_id(text: str) -> str:
    """Check the id of a reference, in the form that links use, and return it. Raises BadOverride."""
    citing, mark, name = text.partition("#")
    if not (citing and mark and name and text.isprintable()):
        raise BadOverride(
            f"{text!r} is not the id of a reference, which is the key of its link: the paper's id, '#' and a name, "
            "e.g. doi:10.5555/a.paper#B12.1"
        )
    return text


def normal_work(text: str, *, any_name: bool = False) -> str:
    """Return the id of a work, normalised as in the catalog. Raises BadOverride.

    ``any_name`` also allows ids of a source that do not have the form ``kind:value``.
    """
    kind, colon, value = text.strip().partition(":")
    if not text.strip() or "#" in text:
        raise BadOverride(f"{text!r} is not a work id: doi:…, pmid:…, pmcid:…, arxiv:…, or an id of its source")
    if kind.lower() in ID_KINDS:
        if NORMALISERS[kind.lower()](value) is None:
            raise BadOverride(f"{text!r} is not a work id: {value!r} is not a {kind.lower()}")
    elif not any_name and not (colon and kind and value and not value.startswith("//")):
        raise BadOverride(
            f"{text!r} is not a work id: doi:…, pmid:…, pmcid:…, arxiv:…, or another kind and a colon; use --force if a "
            "source has such ids"
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
    """Return the event after checking it. ``force`` allows values that are most probably mistakes. Raises BadOverride."""
    reference = reference_id(reference)
    citing = reference.partition("#")[0]
    pinned = None if pinned is None else normal_work(pinned, any_name=force)
    works = tuple(sorted({normal_work(each, any_name=force) for each in forbidden}))
    if pinned is not None and pinned == normal_work(citing, any_name=True) and not force:
        raise BadOverride(f"{reference} would cite its own paper, {pinned}: use --force if this is intended")
    if not reason.strip():
        raise BadOverride(f"{reference}: a reason is required, because the link contains it")
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
    """Return the override in a line of a file. Raises BadOverride.

    The line is JSON, usually without ``schema_version`` and ``at``; an existing ``at`` is kept.
    """
    try:
        fields: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadOverride(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise BadOverride("not a JSON object")
    if fields.pop("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        raise BadOverride(f"schema_version must be {SCHEMA_VERSION} or absent")
    try:  # checks types and missing fields; ``made`` checks the values
        read = OverrideEvent.from_dict({"at": now_ms(), **fields, "schema_version": SCHEMA_VERSION})
    except BadRecord as error:
        raise BadOverride(str(error)) from None
    if unknown := sorted(read.model_extra or {}):
        raise BadOverride(f"unknown fields: {', '.join(unknown)}")
    decision = read.model_dump(exclude={"schema_version", "by"})
    return made(**decision, by=read.by or by, force=force)


def list_overrides(settings: KafkaSettings, partitions: int, wanted: Sequence[int] | None = None) -> Listed:
    """Read these partitions, or all, and return the overrides in force and the refused records, by the ledger's rules."""
    holding: dict[str, OverrideEvent] = {}
    refused: dict[tuple[int, bytes | None], Refused] = {}
    with Range(settings, TOPIC, list(range(partitions) if wanted is None else wanted)) as records:
        for record in records:
            place = (record.partition, record.key)
            refused.pop(place, None)
            try:
                reference, event = override_of(record.key, record.value, record.partition, partitions)
            except BadRecord as error:
                refused[place] = Refused(record.key or b"", record.partition, str(error))
                continue
            if event is not None:
                holding[reference] = event
            elif record.partition == _home(reference, partitions):
                holding.pop(reference, None)
    return Listed(holding, list(refused.values()))


def read_overrides(settings: KafkaSettings, partitions: int, citing: str | None = None) -> Mapping[str, OverrideEvent]:
    """Return the overrides in force, by reference; only those of ``citing`` if it is not None."""
    wanted = None if citing is None else [partition_of(citing.encode(), partitions)]
    return list_overrides(settings, partitions, wanted).of(citing).holding


def find_links(
    settings: KafkaSettings, partitions: int, references: Iterable[str], progress: Progress = lambda *_: None
) -> Found:
    """Return the newest link of each reference. Reads the full partitions of ``links`` that hold them, which may take long."""
    found: dict[str, LinkEvent | None] = dict.fromkeys(references)
    with Range(settings, "links", sorted({_home(each, partitions) for each in found})) as records:
        values = records.newest({each.encode() for each in found}, progress)
    found.update({reference: LinkEvent.from_json(value) for reference, value in values.items()})
    return found


class Curator:
    """A writer of overrides that can wait until links show them. Each method waits for all acknowledgements."""

    def __init__(self, settings: KafkaSettings, partitions: int) -> None:
        self._settings, self._partitions = settings, partitions

    def write(
        self, overrides: Sequence[tuple[str, OverrideEvent | None]], progress: Callable[[int], object] = lambda _: None
    ) -> None:
        """Write an override for each reference; None lifts it. Return when all are acknowledged. Raises NotSent."""
        with Sender(self._settings) as sender:
            for reference, event in overrides:
                partition = _home(reference, self._partitions)
                sender.send(TOPIC, reference.encode(), None if event is None else event.to_json(), partition=partition)
                progress(sender.sent)

    def remove(self, refused: Sequence[Refused]) -> None:
        """Write tombstones for refused records. Return when all are acknowledged. Raises NotSent."""
        with Sender(self._settings) as sender:
            for each in refused:
                sender.send(TOPIC, each.key, None, partition=each.partition)

    def write_and_wait(self, reference: str, event: OverrideEvent | None, wait_s: float) -> LinkEvent | None:
        """Write one override and return the reference's first link that shows it; None if there is none within ``wait_s``."""
        partition = _home(reference, self._partitions)
        with Range(self._settings, "links", [partition]) as before:
            starts = before.ends
        with Range.following(self._settings, "links", starts) as links:
            self.write([(reference, event)])
            for record in links.until(time.monotonic() + wait_s):
                if record.key == reference.encode() and record.value is not None:
                    link = LinkEvent.from_json(record.value)
                    if shows(link, event):
                        return link
        return None


def _home(reference: str, partitions: int) -> int:
    return partition_of(reference.partition("#")[0].encode(), partitions)


def shows(link: LinkEvent, event: OverrideEvent | None) -> bool:
    """Return whether a link shows this override or a newer one; for a lifted override (None), whether it shows none."""
    if event is None:
        return link.curated is None
    return link.curated is not None and link.curated.at >= event.at
