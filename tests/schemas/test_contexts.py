"""The contexts of a reference travel as one event."""

from __future__ import annotations

from reflink.contexts.entities import CitationContext
from schemas import SCHEMA_VERSION, ContextsEvent


def test_an_event_survives_its_json():
    context = CitationContext(paragraph=3, start=4, stop=7, marker="[4]", sentence="As in [4].", section=("Results",))
    event = ContextsEvent(
        schema_version=SCHEMA_VERSION,
        citing="doi:10.1/a",
        paper_version=1,
        arrived=2,
        reference="doi:10.1/a#b.1",
        contexts=(context,),
    )
    assert ContextsEvent.from_json(event.to_json()) == event


def test_a_reference_without_mention_has_an_event_without_contexts():
    event = ContextsEvent.from_json(b'{"schema_version":1,"citing":"a","paper_version":1,"arrived":2,"reference":"a#b.1"}')
    assert event.contexts == ()
    assert b"contexts" not in event.to_json()
