"""Test paper of ``reflink-worker check`` and the work that it cites: what to send, what was observed, where it stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from kafka.consumer.fetcher import ConsumerRecord

from reflink.entities import Ids, Work
from schemas import SCHEMA_VERSION, CatalogEvent, FallbackEvent, LinkEvent, ManifestEvent, read_outcome_event
from schemas.papers import VERSION_HEADER
from workers.dead_letter import EXCEPTION, MESSAGE, WORKER
from workers.kafka.bulk_producer import Sender

#: Prefix of the check's identifiers; 10.5555 is a DOI prefix that nobody registers.
PREFIX: Final = "10.5555/reflink-check."
#: Seconds after which the paper is sent again. The ledger re-evaluates a reference that was decided before its work was known,
#: but retries wait behind live references, of which there may always be some.
_AGAIN_S: Final = 10.0
_CITES_WORK, _CITES_NOTHING = "r1", "r2"
#: Letters instead of digits, which could be recognised as volumes and pages.
_LETTERS: Final = str.maketrans("0123456789", "ghijklmnop")
_CHECK: Final = "check that a {0} runs, that its lag on {1} falls, and its log"


@dataclass
class Sentinel:
    """One paper, the work that it cites, and the records observed of both."""

    token: str
    version: int = 0
    work_offset: int = -1
    offered: bool = False
    parsed: bool = False
    #: References that the linker sent to the fallback, and by reference the newest paper version with an outcome.
    left_open: set[str] = field(default_factory=set)
    decided: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, LinkEvent] = field(default_factory=dict)
    #: Keys of the works in the catalog, as far as the check has read it.
    works: set[str] = field(default_factory=set)
    mismatch: str = ""
    died: str = ""
    withdrawal_seen: bool = False
    _sent_at: float = 0.0

    @property
    def citing(self) -> str:
        """The id of the paper."""
        return f"doi:{PREFIX}{self.token}.paper"

    @property
    def work(self) -> Work:
        """The work that the paper cites."""
        doi = f"{PREFIX}{self.token}.work"
        return Work(id=f"doi:{doi}", ids=Ids(doi=doi), title=self._title(), year=2026)

    def _title(self) -> str:
        return f"A work that exists for the length of one check {self.token.translate(_LETTERS)}"

    def paper(self) -> bytes:
        """Return the paper's XML."""
        words = self.token.translate(_LETTERS)
        return f"""<article><front><article-meta><article-id pub-id-type="doi">{self.citing.removeprefix("doi:")}</article-id>
<title-group><article-title>A check of the pipeline {words}</article-title></title-group></article-meta></front><back><ref-list>
<ref id="{_CITES_WORK}"><element-citation><article-title>{self._title()}</article-title><year>2026</year>
<pub-id pub-id-type="doi">{self.work.ids.doi}</pub-id></element-citation></ref>
<ref id="{_CITES_NOTHING}"><mixed-citation>Unpublished notes {words[:8]} {words[8:]}</mixed-citation></ref>
</ref-list></back></article>""".encode()

    def offer_work(self, sender: Sender) -> None:
        """Add the work to the catalog, as `reflink-worker load` does."""
        event = CatalogEvent(schema_version=SCHEMA_VERSION, work=self.work)
        sender.send("catalog", self.work.id.encode(), event.to_json(), partition=0)
        sender.flush()

    def send(self, sender: Sender) -> None:
        """Send the paper as its next version."""
        self._send(sender, self.paper())
        self._sent_at = time.monotonic()

    def withdraw(self, sender: Sender) -> None:
        """Withdraw the work and then, if it was sent, the paper. The paper comes last because the broker may not accept it."""
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
        """Return whether the newest version was decided without the work and no retry corrected that for ``_AGAIN_S``."""
        decided = self.decided.get(self._id(_CITES_WORK), 0) >= self.version and bool(self.mismatch)
        return decided and time.monotonic() - self._sent_at >= _AGAIN_S

    def _id(self, reference: str) -> str:
        return f"{self.citing}#{reference}.1"

    @property
    def linked(self) -> bool:
        """Whether the link is published."""
        event = self.outcomes.get(self._id(_CITES_WORK))
        return event is not None and event.link.cited == self.work.id

    @property
    def method(self) -> str | None:
        """The method by which the reference was linked."""
        return self.outcomes[self._id(_CITES_WORK)].link.method

    @property
    def settled(self) -> bool:
        """Whether the outcome of the other reference is published."""
        return self._id(_CITES_NOTHING) in self.outcomes

    @property
    def other(self) -> str:
        """The outcome of the other reference: the cited work or the reason without one."""
        link = self.outcomes[self._id(_CITES_NOTHING)].link
        return link.cited or link.unresolved or ""

    @property
    def gone(self) -> bool:
        """Whether the paper is withdrawn and no outcome or work of the check is left."""
        return self.withdrawal_seen and not self.outcomes and not self.works

    def observe(self, topic: str, record: ConsumerRecord) -> None:
        """Process a record of ``topic`` (without prefix); records of other papers are ignored."""
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
            self._observe_outcomes(record.value or b"")
        elif topic == "fallback":
            event = FallbackEvent.from_json(record.value or b"")
            self.left_open |= {item.reference.id for item in event.items}
        elif topic == "dead-letters":
            headers = {name: value.decode("utf-8", "replace") for name, value in record.headers}
            self.died = f"{headers.get(WORKER)} could not handle it: {headers.get(EXCEPTION)}: {headers.get(MESSAGE)}"

    def _observe_outcomes(self, value: bytes) -> None:
        event = read_outcome_event(value)
        if isinstance(event, ManifestEvent):
            self.parsed |= not event.withdrawn
            self.withdrawal_seen |= event.withdrawn
            return
        for item in event.items:
            self.decided[item.reference.id] = max(event.paper_version, self.decided.get(item.reference.id, 0))
            if item.reference.id == self._id(_CITES_WORK):
                self.mismatch = "" if item.link.cited == self.work.id else f"{item.link.unresolved or item.link.cited}"

    def stopped_at(self) -> str:
        """Return which worker did not process the paper, and what to check."""
        first, second = self._id(_CITES_WORK), self._id(_CITES_NOTHING)
        if self.died:
            return f"it became a dead letter: {self.died}: see `reflink-worker dead-letters list`"
        if not self.offered:
            return (
                "broker: the work that it cites was sent to the catalog topic but cannot be read: look for an open transaction"
            )
        if not self.parsed:
            return f"parser: its manifest is not on outcomes: {_CHECK.format('parser', 'papers')}"
        if not self.left_open and not self.decided:
            return f"linker: no reference was decided: {_CHECK.format('linker', 'references')}"
        waiting = [each for each in (first, second) if each not in self.decided]
        if waiting:
            worker, topic = ("fallback", "fallback") if waiting[0] in self.left_open else ("linker", "references")
            return f"{worker}: a reference was not decided: {_CHECK.format(worker, topic)}"
        if self.mismatch:
            return (
                f"linker: it does not know the work at offset {self.work_offset} of the catalog topic ({self.mismatch}): "
                "compare reflink_catalog_offset of the linker and of the ledger, which re-evaluates the reference"
            )
        return f"ledger: there are outcomes but no links: {_CHECK.format('ledger', 'outcomes')}"

    def left_behind(self) -> str:
        """Return what is not withdrawn yet, and the worker responsible for it."""
        if not self.withdrawal_seen and self.version:
            return f"parser: the withdrawal is not on outcomes: {_CHECK.format('parser', 'papers')}"
        if self.outcomes:
            return f"ledger: links of the withdrawn paper remain: {_CHECK.format('ledger', 'outcomes')}"
        if self.citing in self.works:
            return f"ledger: the paper itself remains in the catalog topic: {_CHECK.format('ledger', 'outcomes')}"
        return f"broker: {', '.join(sorted(self.works))} remains in the catalog topic"
