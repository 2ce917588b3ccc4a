"""Find the records that may be of one work: a component of the records connected by identifiers or by a probable match.

An identifier of more than MAX_BEARERS records connects none, and the records of a component of more than MAX_RECORDS stay
alone, since such identifiers are wrong. Beyond these limits, and only there, the result depends on the order of arrival: an
identifier above the limit stays ignored, and works of unchanged records stay until these change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reflink.entities import Work
from reflink.merging import Conflict, Member, Merged, Rules, settle
from reflink.updating.encoded import identifiers
from reflink.updating.layout import IDENTIFIER, RECORD, TOO_MANY, Row, refs, source_of
from reflink.updating.matching import pairs_of
from reflink.updating.state import State

#: Maximum number of records of a component. A larger one is a chain of unlike records, so each of its records stays alone.
MAX_RECORDS: Final = 300


@dataclass(frozen=True, slots=True)
class Component:
    """Records by ref. ``crowded``: identifiers that too many records have. ``pairs``: probabilities of compared pairs."""

    rows: dict[bytes, Row]
    crowded: frozenset[str] = frozenset()
    pairs: dict[tuple[bytes, bytes], float] | None = None


def component_of(state: State, start: bytes, rules: Rules) -> Component:
    """Return the component of a record; the record alone, without its identifiers, if the component is too large."""
    rows: dict[bytes, Row] = {}
    waiting, keys, crowded = [start], set[bytes](), set[str]()
    pairs: dict[tuple[bytes, bytes], float] = {}
    while waiting:
        new = set[bytes]()
        for ref, value in zip(waiting, state.get_many([RECORD + ref for ref in waiting]), strict=True):
            if value is not None:
                rows[ref] = row = Row.from_bytes(value)
                new.update(_identifiers(row))
        ordered, found = sorted(new - keys), set[bytes]()
        keys |= new
        for key, value in zip(ordered, state.get_many([IDENTIFIER + key for key in ordered]), strict=True):
            if value == TOO_MANY:
                crowded.add(key.decode(errors="surrogatepass"))
            else:
                found |= refs(value or b"")
        if rules.compare:
            for ref, others in zip(waiting, pairs_of(state, waiting), strict=True):
                pairs |= {(ref, other): probability for other, probability in others.items()}
                found |= {other for other, probability in others.items() if probability >= rules.min_probability}
        waiting = sorted(found - rows.keys())
        if len(rows) + len(waiting) > MAX_RECORDS:
            own = (key.decode(errors="surrogatepass") for key in _identifiers(rows[start]))
            return Component({start: rows[start]}, frozenset(own))
    return Component(rows, frozenset(crowded), pairs)


def works_of(component: Component, rules: Rules) -> tuple[list[Merged], Sequence[Conflict]]:
    """Return the works of a component, and the identifiers that join unlike records."""
    members, place = list[Member](), dict[bytes, int]()
    for ref in sorted(component.rows):
        row = component.rows[ref]
        if row.json:
            place[ref] = len(place)
            members.append(Member(*source_of(ref), Work.from_json(row.json), row.partial))
    if not members:
        return [], ()
    pairs = component.pairs or {}
    same = [(place[a], place[b], probability) for (a, b), probability in pairs.items() if a in place and b in place]
    return settle(members, same, rules, component.crowded)


def _identifiers(row: Row) -> tuple[bytes, ...]:
    return identifiers(Work.from_json(row.json)) if row.json else ()
