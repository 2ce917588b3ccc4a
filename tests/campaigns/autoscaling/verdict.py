"""Whether a run fulfils the promises: a pure function of its record and of the checker's problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.campaigns.autoscaling.record import Record

#: Workers that must be scaled; the ledger is scaled only if the values request it.
SCALED: Final = ("parser", "linker", "fallback")
#: Marks of each burst: its start, all references linked, and the return to the minimum of replicas.
_BURSTS: Final = (("burst", "drained", "at the minimum"), ("second burst", "drained again", "at the minimum again"))
#: Exit codes that are not a problem: drained, killed with its node, SIGTERM before the handler was installed.
_FINE: Final = (0, -9, -15)
#: Time from the last link until lag must be 0: it covers idle commits, a poll of KEDA and a sample of the record.
SETTLED_S: Final = 20.0


def problems(record: Record, minimum: Mapping[str, int], found: Sequence[str], ends: Mapping[str, int]) -> Iterator[str]:
    """Yield the problems of a run.

    ``minimum`` is the minimum number of replicas of each worker, ``found`` the checker's problems, and ``ends`` the number of
    exits by worker and exit code, as from ``Agent.ends``.
    """
    yield from found
    for first, drained, calm in _BURSTS:
        names = [text for _, text in record.marks]
        if missing := [each for each in (first, drained, calm) if each not in names]:
            yield f"{first}: it did not reach: {', '.join(missing)}"
            continue
        yield from _scaled(record, minimum, record.at(first), record.at(calm), first)
        yield from _calm(record, record.at(drained) + SETTLED_S, record.at(calm), first)
    for name, count in ends.items():
        worker, code = name.rsplit(" ", 1)
        if int(code) not in _FINE or "grace" in worker:
            yield f"{worker} ended {count} times with exit code {code}"


def peaks(record: Record, since: float, until: float, what: str = "ready") -> dict[str, int]:
    """Return the maximum number of replicas of each worker from ``since`` to ``until``; ``what`` is wanted or ready."""
    maximum: dict[str, int] = {}
    for sample in record.between(since, until):
        for worker, count in sample[what].items():
            maximum[worker] = max(maximum.get(worker, 0), count)
    return maximum


def _scaled(record: Record, minimum: Mapping[str, int], since: float, until: float, phase: str) -> Iterator[str]:
    maximum, last = peaks(record, since, until), record.between(since, until)[-1]
    for worker in SCALED:
        if maximum.get(worker, 0) <= minimum[worker]:
            yield f"{phase}: {worker} was not scaled up: {maximum.get(worker, 0)} ready at most"
    for worker, count in minimum.items():
        wanted, ready = last["wanted"][worker], last["ready"][worker]
        if wanted != count or ready != count:
            yield f"{phase}: {worker} did not return to {count}: {wanted} wanted, {ready} ready"


def _calm(record: Record, since: float, until: float, phase: str) -> Iterator[str]:
    """Yield workers with lag after everything is linked: markers or aborted records cause it, and it would start workers."""
    quiet = record.between(since, until)
    if not quiet:
        yield f"{phase}: the run ended within {SETTLED_S:g} s after all was linked, so the lag of markers was not measured"
    for which in ("keda", "lag"):
        left = {worker for sample in quiet for worker, lag in sample[which].items() if lag}
        for worker in sorted(left):
            maximum = max(sample[which].get(worker, 0) for sample in quiet)
            yield f"{phase}: {worker}: {which} counts up to {maximum:g} records {SETTLED_S:g} s after the last link"


def summary(record: Record) -> dict[str, Any]:
    """Return the figures for the table of the run."""
    found: dict[str, Any] = {}
    names = [text for _, text in record.marks]
    for first, drained, calm in _BURSTS:
        if not {first, drained, calm} <= set(names):
            continue
        start, end, calmed = record.at(first), record.at(drained), record.at(calm)
        inside = record.between(start, end)
        # The mark may fall between the last link and the sample that counts it.
        before, after = inside[0]["links"], record.between(start, end + 2.0)[-1]["links"]
        found[first] = {
            "max lag by KEDA": {worker: int(max(each["keda"].get(worker, 0) for each in inside)) for worker in SCALED},
            "max lag by reflink": {worker: int(max(each["lag"].get(worker, 0) for each in inside)) for worker in SCALED},
            "max wanted": peaks(record, start, calmed, "wanted"),
            "max ready": peaks(record, start, calmed),
            "first more ready after s": _first_more(record, start, calmed),
            "drained after s": round(end - start, 1),
            "at the minimum after s": round(calmed - end, 1),
            "links": after - before,
            "links a second": round((after - before) / max(end - start, 1.0), 1),
        }
    if "node lost" in names:
        found["node lost"] = _replaced(record, record.at("node lost"))
    if record.samples:
        found["max machine load"] = max(each.get("load", 0.0) for each in record.samples)
    return found


def _replaced(record: Record, lost: float) -> dict[str, Any]:
    """Return the processes killed with the node, and the seconds until the next pod, and the next ledger, started."""
    after = [(when - lost, text) for when, text in record.messages if when >= lost]
    started = [(round(when, 1), text) for when, text in after if " starts on " in text]
    return {
        "killed": sorted(text.split(" ")[0] for _, text in after if " is killed on " in text),
        "next pod started after s": next((when for when, _ in started), None),
        "ledger replaced after s": next((when for when, text in started if "-ledger-" in text), None),
    }


def _first_more(record: Record, since: float, until: float) -> dict[str, float | None]:
    """Return the seconds until each worker had more ready replicas than at the beginning."""
    first, *later = record.between(since, until)
    return {
        worker: next(
            (round(each["seconds"] - since, 1) for each in later if each["ready"][worker] > first["ready"][worker]), None
        )
        for worker in SCALED
    }
