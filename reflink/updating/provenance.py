"""Show the records that a work was made of, and the record that each of its fields came from."""

from __future__ import annotations

from reflink.merging import Merged, Rules
from reflink.updating.components import component_of, works_of
from reflink.updating.layout import IDENTIFIER, RECORD, TOO_MANY, WORK, Published, Row, ref_of, refs
from reflink.updating.state import State


def provenance(state: State, name: str) -> list[Merged]:
    """Return the works of all records with this identifier (``kind:value``), work id, or ref (``source key``).

    Filters are not applied, so a work that a filter keeps out of the catalog is among them.
    """
    before = state.fact("rules")
    rules = Rules.model_validate(before["rules"]) if isinstance(before, dict) else Rules()
    waiting, works = _refs(state, name), list[Merged]()
    while waiting:
        component = component_of(state, min(waiting), rules)
        found, _ = works_of(component, rules)
        wanted = waiting & component.rows.keys() | {min(waiting)}
        works += [merged for merged in found if any(ref_of(each.source, each.key) in wanted for each in merged.members)]
        waiting -= component.rows.keys() | {min(waiting)}
    return works


def _refs(state: State, name: str) -> set[bytes]:
    key = name.encode(errors="surrogatepass")
    found = set[bytes]()
    if (bearers := state.get(IDENTIFIER + key)) is not None and bearers != TOO_MANY:
        found |= refs(bearers)
    if (work := state.get(WORK + key)) is not None:
        found |= Published.from_bytes(work).members
    if (row := state.get(RECORD + key)) is not None and Row.from_bytes(row).json:
        found.add(key)
    return found
