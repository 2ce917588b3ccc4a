"""The check's own paper and the work that it cites: what is sent, what is seen of them, and where they stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from kafka.consumer.fetcher import ConsumerRecord

from reflink.entities import Ids, Work
from schemas import SCHEMA_VERSION, CatalogEvent, FallbackEvent, LinkEvent, ManifestEvent, read_outcome_event
from schemas.papers import VERSION_HEADER
from workers.poison import EXCEPTION, MESSAGE, WORKER
from workers.sending import Sender

#: Identifiers of this kind are the check's; 10.5555 is the prefix that nobody registers.
PREFIX: Final = "10.5555/reflink-check."
#: A reference that was judged before its work was known is woken by the ledger. Retries come behind live references, so where
#: there are always some, the paper is sent again after so long.
_AGAIN_S: Final = 10.0
_CITES_WORK, _CITES_NOTHING = "r1", "r2"
#: Letters only, lest numbers be taken for volumes and pages of something.
_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")
_LOOK: Final = "is a {0} running, is its lag on {1} falling, what does its log say?"


@dataclass
class Sentinel:
    """One paper and the work that it cites, and what was seen of them."""

    token: str
    version: int = 0
    work_offset: int = -1
    offered: bool = False
    parsed: bool = False
    #: References that the linker left to the fallback, and the newest version of the paper at which each was judged.
    left_open: set[str] = field(default_factory=set)
    judged: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, LinkEvent] = field(default_factory=dict)
    #: Keys of works that are in the catalog, as far as it was read.
    works: set[str] = field(default_factory=set)
    why_not: str = ""
    died: str = ""
    withdrawal_heard: bool = False
    _sent_at: float = 0.0

    @property
    def citing(self) -> str:
        """The paper's id."""
        return f"doi:{PREFIX}{self.token}.paper"

    @property
    def work(self) -> Work:
        """What the paper cites."""
        doi = f"{PREFIX}{self.token}.work"
        return Work(id=f"doi:{doi}", ids=Ids(doi=doi), title=self._title(), year=2026)

    def _title(self) -> str:
        return f"A work that exists for the length of one check {self.token.translate(_LETTERS)}"

    def paper(self) -> bytes:
        """Its XML."""
        words = self.token.translate(_LETTERS)
        return f"""<article><front><article-meta><article-id pub-id-type="doi">{self.citing.removeprefix("doi:")}</article-id>
<title-group><article-title>A check of the pipeline {words}</article-title></title-group></article-meta></front><back><ref-list>
<ref id="{_CITES_WORK}"><element-citation><article-title>{self._title()}</article-title><year>2026</year>
<pub-id pub-id-type="doi">{self.work.ids.doi}</pub-id></element-citation></ref>
<ref id="{_CITES_NOTHING}"><mixed-citation>Unpublished notes {words[:8]} {words[8:]}</mixed-citation></ref>
</ref-list></back></article>""".encode()

    def offer_work(self, sender: Sender) -> None:
        """Adds the work to the catalog, as `reflink-worker load` does."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=self.work)
        sender.send("catalog", self.work.id.encode(), event.to_json(), partition=0)
        sender.flush()

    def send(self, sender: Sender) -> None:
        """Sends the paper as its next version."""
        self._send(sender, self.paper())
        self._sent_at = time.monotonic()

    def withdraw(self, sender: Sender) -> None:
        """Takes back the work and then, if it was sent, the paper, which may be what the broker does not take."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="the check is over")
        for value in (event.to_json(), None):
            sender.send("catalog", self.work.id.encode(), value, partition=0)
        sender.flush()
        if self.version:
            self._send(sender, None)

    def _send(self, sender: Sender, value: bytes | None) -> None:
        self.version += 1
        sender.send("papers", self.citing.encode(), value, headers=((VERSION_HEADER, str(self.version).encode()),))
        sender.flush()

    def must_be_sent_again(self) -> bool:
        """Whether its newest version was judged without the work, and no retry has mended that for long."""
        judged = self.judged.get(self._id(_CITES_WORK), 0) >= self.version and bool(self.why_not)
        return judged and time.monotonic() - self._sent_at >= _AGAIN_S

    def _id(self, reference: str) -> str:
        return f"{self.citing}#{reference}.1"

    @property
    def linked(self) -> bool:
        """Whether the link is out."""
        event = self.outcomes.get(self._id(_CITES_WORK))
        return event is not None and event.link.cited == self.work.id

    @property
    def method(self) -> str | None:
        """By which the reference was linked."""
        return self.outcomes[self._id(_CITES_WORK)].link.method

    @property
    def settled(self) -> bool:
        """Whether the outcome of the other reference is out."""
        return self._id(_CITES_NOTHING) in self.outcomes

    @property
    def other(self) -> str:
        """What became of the other reference."""
        link = self.outcomes[self._id(_CITES_NOTHING)].link
        return link.cited or link.unresolved or ""

    @property
    def gone(self) -> bool:
        """Whether nothing is left."""
        return self.withdrawal_heard and not self.outcomes and not self.works

    def hear(self, topic: str, record: ConsumerRecord) -> None:
        """Takes a record of ``topic`` (without prefix) in; most are not about this paper."""
        key = (record.key or b"").decode("utf-8", "replace")
        if topic == "catalog" and key in (self.citing, self.work.id):
            if record.value is None:
                self.works.discard(key)
            elif CatalogEvent.from_json(record.value).work is not None:
                self.works.add(key)
                if key == self.work.id:
                    self.offered, self.work_offset = True, record.offset
        elif topic == "links" and key.startswith(f"{self.citing}#"):
            if record.value is None:
                self.outcomes.pop(key, None)
            else:
                self.outcomes[key] = LinkEvent.from_json(record.value)
        elif key != self.citing:
            return
        elif topic == "outcomes":
            self._hear_outcomes(record.value or b"")
        elif topic == "fallback":
            event = FallbackEvent.from_json(record.value or b"")
            self.left_open |= {item.reference.id for item in event.items}
        elif topic == "dead-letters":
            said = {name: value.decode("utf-8", "replace") for name, value in record.headers}
            self.died = f"{said.get(WORKER)} gave it up: {said.get(EXCEPTION)}: {said.get(MESSAGE)}"

    def _hear_outcomes(self, value: bytes) -> None:
        event = read_outcome_event(value)
        if isinstance(event, ManifestEvent):
            self.parsed |= not event.withdrawn
            self.withdrawal_heard |= event.withdrawn
            return
        for item in event.items:
            self.judged[item.reference.id] = max(event.paper_version, self.judged.get(item.reference.id, 0))
            if item.reference.id == self._id(_CITES_WORK):
                self.why_not = "" if item.link.cited == self.work.id else f"{item.link.unresolved or item.link.cited}"

    def stopped_at(self) -> str:
        """Which worker the paper has not come past, and what to look at."""
        first, second = self._id(_CITES_WORK), self._id(_CITES_NOTHING)
        if self.died:
            return f"it became a dead letter: {self.died}: see `reflink-worker dead-letters list`"
        if not self.offered:
            return "broker: the work that it cites was sent to the catalog topic and does not come out: is a transaction open?"
        if not self.parsed:
            return f"parser: its manifest did not come on outcomes: {_LOOK.format('parser', 'papers')}"
        if not self.left_open and not self.judged:
            return f"linker: it judged no reference: {_LOOK.format('linker', 'references')}"
        waiting = [each for each in (first, second) if each not in self.judged]
        if waiting:
            worker, topic = ("fallback", "fallback") if waiting[0] in self.left_open else ("linker", "references")
            return f"{worker}: it judged no reference that came to it: {_LOOK.format(worker, topic)}"
        if self.why_not:
            return (
                f"linker: it does not know the work at offset {self.work_offset} of the catalog topic ({self.why_not}): "
                "does it follow? reflink_catalog_offset says how far, of the ledger too, which wakes the reference"
            )
        return f"ledger: outcomes came and no links: {_LOOK.format('ledger', 'outcomes')}"

    def left_behind(self) -> str:
        """What was not taken back, and by whom it should have been."""
        if not self.withdrawal_heard and self.version:
            return f"parser: it did not hear of the withdrawal: {_LOOK.format('parser', 'papers')}"
        if self.outcomes:
            return f"ledger: links of a withdrawn paper are there still: {_LOOK.format('ledger', 'outcomes')}"
        if self.citing in self.works:
            return f"ledger: the paper itself is in the catalog topic still: {_LOOK.format('ledger', 'outcomes')}"
        return f"broker: {', '.join(sorted(self.works))} is in the catalog topic still"
