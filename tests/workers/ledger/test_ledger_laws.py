"""Laws of the ledger: in every order of arrival it publishes the newest state, and nothing twice."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas import ManifestEvent, OutcomesEvent
from tests.profiles import examples
from tests.workers.ledger.ledgered import Ledger, Ledgered, manifest, outcomes
from workers.ledger.stage import LedgerView
from workers.stage import Output


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Ledgered], dict[str, str | None], bool]:
    """Draw events in order of arrival, the links expected at the end, and whether all outcomes differ."""
    distinct = draw(st.booleans())
    names = st.sampled_from("abcd")
    manifests: dict[int, ManifestEvent] = {}
    results: dict[int, list[OutcomesEvent]] = {}
    final: dict[str, str | None] = {}
    versions = range(1, draw(st.integers(1, 4)) + 1)
    for version in versions:
        withdrawn = draw(st.integers(0, 4)) == 0
        references = [] if withdrawn else sorted(draw(st.sets(names)))
        manifests[version] = manifest(version, *references, withdrawn=withdrawn)
        results[version], final = [], {}
        for offset in draw(st.permutations(range(draw(st.integers(1, 3))))) if references else []:
            found: dict[str, str | None] = {}
            # The first outcome has all references, later ones have some.
            for name in references if offset == 0 else sorted(draw(st.sets(st.sampled_from(references)))):
                found[name] = f"doi:10.1/{version}.{offset}.{name}" if distinct else draw(st.sampled_from([None, "doi:10.1/x"]))
            results[version].append(outcomes(version, offset, found, text=f"text {version}"))
        for event in sorted(results[version], key=lambda event: event.catalog_offset):
            final.update({item.reference.id.split("#")[1]: item.link.cited for item in event.items})
    tokens = [version for version in versions for _ in range(1 + len(results[version]))]
    # The manifest is the first event of a version, as in the topic; the order is otherwise arbitrary.
    arrived: list[Ledgered] = [
        manifests.pop(version) if version in manifests else results[version].pop(0) for version in draw(st.permutations(tokens))
    ]
    for again in draw(st.lists(st.sampled_from(arrived), max_size=3)):  # replayed records
        arrived.insert(draw(st.integers(arrived.index(again), len(arrived))), again)
    return arrived, final, distinct


quick = settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quick
@given(histories(), st.data())
def test_the_newest_version_is_published_in_every_order_of_arrival(ledger: Ledger, history: Any, data: st.DataObject):
    arrived, final, distinct = history
    ledger.reset()
    while arrived:
        size = data.draw(st.integers(1, len(arrived)), label="batch")
        ledger.take(*arrived[:size])
        arrived = arrived[size:]
        if distinct and data.draw(st.booleans(), label="rebuild"):
            ledger.rebuild()
    assert ledger.links() == final
    for table in ("links", "manifests"):
        assert ledger.store.tables[table].keys() == ledger.compacted(table).keys()
        assert ledger.store.offsets[table] == sum(message.topic == table for message in ledger.log)


@quick
@given(histories(), st.data())
def test_a_divided_batch_has_the_output_of_the_whole(ledger: Ledger, history: Any, data: st.DataObject):
    arrived, _, _ = history
    ledger.reset()
    before = data.draw(st.integers(0, len(arrived)), label="committed before")
    if before:
        ledger.take(*arrived[:before])
    batch = arrived[before:]
    whole = ledger.handle(batch)
    view, parts = LedgerView(ledger.stage.stores, ledger.stage.catalog), Output()
    while batch:
        size = data.draw(st.integers(1, len(batch)), label="part")
        output = ledger.handle(batch[:size], view)
        view = view.after(output)
        parts.add(output)
        batch = batch[size:]
    assert parts == whole


@quick
@given(histories())
def test_repeated_events_change_no_link(ledger: Ledger, history: Any):
    arrived, final, _ = history
    ledger.reset()
    ledger.take(*arrived)
    ledger.take(*arrived)
    assert ledger.links() == final
