"""Withdrawal of papers: send a version that supersedes the one the ledger knows, and report the result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from schemas.links import PaperState
from schemas.papers import VERSION_HEADER
from workers.config.settings import KafkaSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.range_reader import Range
from workers.kafka.topics import TopicAdmin, partition_of

#: The largest version that the parser accepts: 18 digits.
LARGEST: Final = 10**18 - 1
#: ``superseded``: a newer version is current. ``unknown``: the ledger has no such paper. ``unanswered``: no result in time.
Outcome = Literal["withdrawn", "withdrawn-before", "superseded", "unknown", "unanswered"]


@dataclass(frozen=True)
class Withdrawal:
    """The result for one paper: the version sent (None if none was), and the newest version that the ledger knows."""

    paper: str
    outcome: Outcome
    version: int | None
    known: int | None


def withdraw(settings: KafkaSettings, papers: Iterable[str], version: int | None, timeout_s: float) -> list[Withdrawal]:
    """Withdraw papers by their work ids and wait for the ledger, at most ``timeout_s`` seconds. Return results in their order.

    ``version``: None for the version that the ledger knows plus one. Reads those partitions of ``manifests`` that hold the
    papers.
    Raises WrongTopic, BrokerRefused, BrokerUnreachable, Stalled, NotSent, and BadRecord for a state newer than this code.
    """
    with TopicAdmin(settings) as admin:
        partitions = admin.check(["papers", "manifests"])["manifests"].partitions
    wanted = {paper: partition_of(paper.encode(), partitions) for paper in papers}
    known, ends = _known(settings, wanted)
    settled: dict[str, Withdrawal] = {}
    pending: dict[str, int] = {}
    for paper, state in known.items():
        chosen = _version(state, version)
        if outcome := _needless(state, chosen, version):
            settled[paper] = Withdrawal(paper, outcome, None, None if state is None else state.paper_version)
        else:
            pending[paper] = chosen
    if pending:
        starts = {wanted[paper]: ends[wanted[paper]] for paper in pending}
        with Range.following(settings, "manifests", starts) as manifests:
            with Sender(settings) as sender:
                for paper, chosen in pending.items():
                    sender.send("papers", paper.encode(), None, headers=((VERSION_HEADER, b"%d" % chosen),))
            settled |= _await(manifests, pending, timeout_s)
    for paper, sent in pending.items():
        state = known[paper]
        settled.setdefault(paper, Withdrawal(paper, "unanswered", sent, None if state is None else state.paper_version))
    return [settled[paper] for paper in wanted]


def _known(settings: KafkaSettings, wanted: Mapping[str, int]) -> tuple[dict[str, PaperState | None], dict[int, int]]:
    """Return the papers' newest states, and the end offsets of their partitions."""
    known: dict[str, PaperState | None] = dict.fromkeys(wanted)
    with Range(settings, "manifests", sorted(set(wanted.values()))) as records:
        values = records.newest({paper.encode() for paper in wanted})
        known.update({paper: PaperState.from_json(value) for paper, value in values.items()})
        return known, records.ends


def _version(state: PaperState | None, version: int | None) -> int:
    """Return the version to send. A repeated version replaces the earlier one, so the largest version can be withdrawn too."""
    if version is not None:
        return version
    return min(state.paper_version + 1, LARGEST) if state is not None else 0


def _needless(state: PaperState | None, chosen: int, version: int | None) -> Outcome | None:
    """Return the outcome if it is known without sending, else None."""
    if state is None:
        return "unknown" if version is None else None
    if state.withdrawn and (version is None or version <= state.paper_version):
        return "withdrawn-before"
    return "superseded" if chosen < state.paper_version else None


def _await(manifests: Range, pending: Mapping[str, int], timeout_s: float) -> dict[str, Withdrawal]:
    """Wait until the ledger publishes a withdrawn state or a newer version of each paper. Return the papers settled in time."""
    keys = {paper.encode(): paper for paper in pending}
    settled: dict[str, Withdrawal] = {}
    for record in manifests.until(time.monotonic() + timeout_s):
        paper = keys.get(record.key or b"")
        if paper is None or record.value is None:
            continue
        state, sent = PaperState.from_json(record.value), pending[paper]
        if state.withdrawn and state.paper_version >= sent:
            settled[paper] = Withdrawal(paper, "withdrawn", sent, state.paper_version)
        elif state.paper_version > sent:
            settled[paper] = Withdrawal(paper, "superseded", sent, state.paper_version)
        if len(settled) == len(pending):
            break
    return settled
