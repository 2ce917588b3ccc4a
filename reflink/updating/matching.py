"""Find records of one article that share no identifier: blocking keys lead to other records, and the verdict compares them.

1. The row of a record has its blocking keys and the probabilities of the pairs that it belongs to; each pair is in two rows.
2. A key of more than MAX_BEARERS records compares none of them. When a key becomes one of them, or ceases to be one, all its
   records are compared anew, so the result does not depend on the order in which records arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import orjson
from rocksdict import WriteBatch

from reflink.blocking.keys import hashed
from reflink.entities import Work
from reflink.grouping.keys import MAX_BEARERS, RULES, keys
from reflink.grouping.sameness import Sameness
from reflink.merging import VERSION
from reflink.updating.layout import BLOCK, DIRTY, EDGES, RECORD, Row, digest
from reflink.updating.state import State

#: Number of records that are compared together.
_BATCH: Final = 200
#: Name of the fact with the versions of the keys and of the comparison that the rows have.
_FACT: Final = "matching"


@dataclass
class Matches:
    """The row of a record. ``of``: digest of the record that was compared; ``pairs``: probability by the other record's ref."""

    of: bytes = b""
    keys: list[bytes] = field(default_factory=list)
    pairs: dict[bytes, float] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the value of the row."""
        pairs = {ref.decode(errors="surrogatepass"): probability for ref, probability in self.pairs.items()}
        return orjson.dumps({"of": self.of.hex(), "keys": [key.hex() for key in self.keys], "pairs": pairs})

    @classmethod
    def from_bytes(cls, value: bytes | None) -> Matches:
        """Return the row of a value; an empty one for None."""
        if value is None:
            return cls()
        data = orjson.loads(value)
        pairs = {ref.encode(errors="surrogatepass"): probability for ref, probability in data["pairs"].items()}
        return cls(bytes.fromhex(data["of"]), [bytes.fromhex(key) for key in data["keys"]], pairs)


def match_dirty(state: State, sameness: Sameness, least: float, progress: Callable[[int], object] = lambda _: None) -> int:
    """Compare all dirty records that have changed since they were compared, and return the number of pairs compared.

    Records whose pairs of at least the probability ``least`` change become dirty too. ``progress`` receives the number of
    records compared so far.
    """
    rules = [RULES, VERSION, sameness.join_preprints]
    if state.fact(_FACT) != rules:
        _forget(state)
        state.set_fact(_FACT, rules)
    done, compared = 0, 0
    refs = (ref for ref, _ in state.rows(DIRTY))
    while chunk := list(islice(refs, _BATCH)):
        compared += _match(state, chunk, sameness, least)
        done += len(chunk)
        progress(done)
    return compared


def pairs_of(state: State, refs: list[bytes]) -> list[dict[bytes, float]]:
    """Return for each record the probabilities of the pairs that it belongs to."""
    return [Matches.from_bytes(value).pairs for value in state.get_many([EDGES + ref for ref in refs])]


def _match(state: State, chunk: list[bytes], sameness: Sameness, least: float) -> int:
    works: dict[bytes, Work | None] = {}
    rows = dict(zip(chunk, map(Matches.from_bytes, state.get_many([EDGES + ref for ref in chunk])), strict=True))
    records = dict(zip(chunk, state.get_many([RECORD + ref for ref in chunk]), strict=True))
    changed = []
    for ref, value in records.items():
        row = None if value is None else Row.from_bytes(value)
        json = b"" if row is None or row.partial else row.json
        if rows[ref].of != digest(json):
            works[ref] = Work.from_json(json) if json else None
            rows[ref].of = digest(json)
            changed.append(ref)
    crowded = _enter(state, changed, works, rows)
    again = [ref for ref in crowded if ref not in works]
    for ref, value in zip(again, state.get_many([EDGES + ref for ref in again]), strict=True):
        rows[ref] = Matches.from_bytes(value)
    changed += again
    near = {ref: _near(state, ref, rows[ref].keys) for ref in changed}
    others = sorted({other for found in near.values() for other in found} - works.keys())
    for ref, value in zip(others, state.get_many([RECORD + ref for ref in others]), strict=True):
        works[ref] = _work(value)
    for ref in again:
        works.setdefault(ref, _work(state.get(RECORD + ref)))
    pairs = sorted({(min(ref, other), max(ref, other)) for ref, found in near.items() for other in found})
    known = [(a, b) for a, b in pairs if works[a] is not None and works[b] is not None]
    found = sameness.probabilities([(works[a], works[b]) for a, b in known])  # type: ignore[misc]
    _write(state, changed, rows, dict(zip(known, found, strict=True)), least)
    return len(known)


def _work(value: bytes | None) -> Work | None:
    row = None if value is None else Row.from_bytes(value)
    return None if row is None or row.partial or not row.json else Work.from_json(row.json)


def _enter(state: State, changed: Iterable[bytes], works: dict[bytes, Work | None], rows: dict[bytes, Matches]) -> set[bytes]:
    """Write the blocking keys of the changed records; return the records of keys that have too many records, or no longer."""
    batch, added, removed = state.batch(), Counter[bytes](), Counter[bytes]()
    for ref in changed:
        work = works[ref]
        now = [] if work is None else list(dict.fromkeys(map(hashed, keys(work))))
        for key in rows[ref].keys:
            if key not in now:
                batch.delete(BLOCK + key + ref)
                removed[key] += 1
        for key in now:
            if key not in rows[ref].keys:
                batch.put(BLOCK + key + ref, b"")
                added[key] += 1
        rows[ref].keys = now
        # Until its pairs are written, the record counts as not compared.
        batch.put(EDGES + ref, Matches(b"", now, rows[ref].pairs).to_bytes())
    state.write(batch)
    crowded = set[bytes]()
    for key in added.keys() | removed.keys():
        bearers = [ref for ref, _ in islice(state.rows(BLOCK + key), MAX_BEARERS + added[key] + 1)]
        before = len(bearers) - added[key] + removed[key]
        if (before > MAX_BEARERS) != (len(bearers) > MAX_BEARERS):
            crowded.update(bearers)
    return crowded


def _near(state: State, ref: bytes, blocks: Iterable[bytes]) -> set[bytes]:
    """Return the other records with one of the keys, without those of keys that too many records have."""
    found = set[bytes]()
    for key in blocks:
        bearers = [other for other, _ in islice(state.rows(BLOCK + key), MAX_BEARERS + 1)]
        if len(bearers) <= MAX_BEARERS:
            found.update(bearers)
    return found - {ref}


def _write(
    state: State, changed: list[bytes], rows: dict[bytes, Matches], judged: dict[tuple[bytes, bytes], float], least: float
) -> None:
    """Replace the pairs of the changed records, in both rows of each pair."""
    now: dict[bytes, dict[bytes, float]] = {ref: {} for ref in changed}
    for (a, b), probability in judged.items():
        for one, other in ((a, b), (b, a)):
            if one in now:
                now[one][other] = probability
    touched = {other for ref in changed for other in rows[ref].pairs.keys() | now[ref].keys()} - now.keys()
    more = sorted(touched)
    rows |= dict(zip(more, map(Matches.from_bytes, state.get_many([EDGES + ref for ref in more])), strict=True))
    batch = state.batch()
    for ref in changed:
        for other in rows[ref].pairs.keys() | now[ref].keys():
            before, after = rows[ref].pairs.get(other, 0.0), now[ref].get(other, 0.0)
            if (before >= least) != (after >= least) or (before != after and after >= least):
                batch.put(DIRTY + other, b"")
                batch.put(DIRTY + ref, b"")
            if other not in now:
                _set(rows[other].pairs, ref, now[ref].get(other))
        rows[ref].pairs = now[ref]
    for ref in {*changed, *more}:
        _put(ref, rows[ref], batch)
    state.write(batch)


def _set(pairs: dict[bytes, float], ref: bytes, probability: float | None) -> None:
    if probability is None:
        pairs.pop(ref, None)
    else:
        pairs[ref] = probability


def _put(ref: bytes, row: Matches, batch: WriteBatch) -> None:
    if row.keys or row.pairs or row.of != digest(b""):
        batch.put(EDGES + ref, row.to_bytes())
    else:
        batch.delete(EDGES + ref)


def _forget(state: State) -> None:
    """Remove the rows of another version of the keys or of the comparison."""
    for table in (BLOCK, EDGES):
        names = (key for key, _ in state.rows(table))
        while chunk := list(islice(names, 1000)):
            batch = state.batch()
            for key in chunk:
                batch.delete(table + key)
            state.write(batch)
