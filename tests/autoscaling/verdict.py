"""Whether a run was as promised: a pure function of its record and of what the checker found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.autoscaling.record import Record

#: What must be scaled; the ledger is, where the values say so.
SCALED: Final = ("parser", "linker", "fallback")
#: How a worker may end: drained, killed with its node, told to end before it could hear it.
_FINE: Final = (0, -9, -15)
#: From the time that all is linked: idle commits, a look of KEDA's and one of the record's lie between.
SETTLED_S: Final = 20.0


def problems(record: Record, least: Mapping[str, int], found: Sequence[str], ends: Mapping[str, int]) -> Iterator[str]:
    """What is not as promised. ``least`` is the fewest of each worker, ``found`` the checker's, ``ends`` as they are told."""
    yield from found
    for first, drained, calm in (("burst", "drained", "at the least"), ("second burst", "drained again", "at the least again")):
        names = [text for _, text in record.marks]
        if missing := [each for each in (first, drained, calm) if each not in names]:
            yield f"{first}: it never came to: {', '.join(missing)}"
            continue
        yield from _scaled(record, least, record.at(first), record.at(calm), first)
        yield from _calm(record, record.at(drained) + SETTLED_S, record.at(calm), first)
    for name, count in ends.items():
        worker, code = name.rsplit(" ", 1)
        if int(code) not in _FINE or "grace" in worker:
            yield f"{worker} ended {count} times with exit code {code}"


def peaks(record: Record, since: float, until: float, what: str = "ready") -> dict[str, int]:
    """The most replicas of each worker in that time; ``what``: wanted or ready."""
    most: dict[str, int] = {}
    for sample in record.between(since, until):
        for worker, count in sample[what].items():
            most[worker] = max(most.get(worker, 0), count)
    return most


def _scaled(record: Record, least: Mapping[str, int], since: float, until: float, phase: str) -> Iterator[str]:
    most, last = peaks(record, since, until), record.between(since, until)[-1]
    for worker in SCALED:
        if most.get(worker, 0) <= least[worker]:
            yield f"{phase}: {worker} was not scaled up: never more than {most.get(worker, 0)} ready"
    for worker, count in least.items():
        wanted, ready = last["wanted"][worker], last["ready"][worker]
        if wanted != count or ready != count:
            yield f"{phase}: {worker} did not come down to {count}: {wanted} wanted, {ready} ready"


def _calm(record: Record, since: float, until: float, phase: str) -> Iterator[str]:
    """Nothing is left to do: what lag there still is, markers or aborted records make, and it would wake somebody."""
    quiet = record.between(since, until)
    if not quiet:
        yield f"{phase}: it was at the least less than {SETTLED_S:g} s after all was linked, so the lag of markers was not seen"
    for which in ("keda", "lag"):
        left = {worker for sample in quiet for worker, lag in sample[which].items() if lag}
        for worker in sorted(left):
            most = max(sample[which].get(worker, 0) for sample in quiet)
            yield f"{phase}: {worker}: {which} counts up to {most:g} records though everything was linked {SETTLED_S:g} s ago"


def summary(record: Record) -> dict[str, Any]:
    """The figures of the run's table."""
    found: dict[str, Any] = {}
    names = [text for _, text in record.marks]
    for first, drained, calm in (("burst", "drained", "at the least"), ("second burst", "drained again", "at the least again")):
        if not {first, drained, calm} <= set(names):
            continue
        start, end, least = record.at(first), record.at(drained), record.at(calm)
        inside = record.between(start, end)
        # The mark may come between the last link and the sample that counts it.
        before, after = inside[0]["links"], record.between(start, end + 2.0)[-1]["links"]
        found[first] = {
            "most lag by KEDA": {worker: int(max(each["keda"].get(worker, 0) for each in inside)) for worker in SCALED},
            "most lag by reflink": {worker: int(max(each["lag"].get(worker, 0) for each in inside)) for worker in SCALED},
            "most wanted": peaks(record, start, least, "wanted"),
            "most ready": peaks(record, start, least),
            "first more ready after s": _first_more(record, start, least),
            "drained after s": round(end - start, 1),
            "at the least after s": round(least - end, 1),
            "links": after - before,
            "links a second": round((after - before) / max(end - start, 1.0), 1),
        }
    if "node lost" in names:
        found["node lost"] = _replaced(record, record.at("node lost"))
    if record.samples:
        found["machine load, most"] = max(each.get("load", 0.0) for each in record.samples)
    return found


def _replaced(record: Record, lost: float) -> dict[str, Any]:
    """What died with the node, and how long until the next pod started, and the ledger."""
    after = [(when - lost, text) for when, text in record.said if when >= lost]
    started = [when for when, text in after if " starts on " in text]
    return {
        "killed": sorted(text.split(" ")[0] for _, text in after if " is killed on " in text),
        "next pod started after s": round(started[0], 1) if started else None,
        "ledger replaced after s": next(
            (round(when, 1) for when, text in after if "-ledger-" in text and " starts on " in text), None
        ),
    }


def _first_more(record: Record, since: float, until: float) -> dict[str, float | None]:
    """Seconds until a worker had more ready than in the beginning."""
    inside = record.between(since, until)
    found: dict[str, float | None] = dict.fromkeys(SCALED)
    for worker in SCALED:
        for sample in inside:
            if sample["ready"][worker] > inside[0]["ready"][worker]:
                found[worker] = round(sample["seconds"] - since, 1)
                break
    return found
