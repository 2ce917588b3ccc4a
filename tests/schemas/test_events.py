"""Laws of events: JSON keeps all fields, and newer events are refused with advice."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import Work
from reflink.errors import BadRecord
from schemas import SCHEMA_VERSION, CatalogEvent, Event, ManifestEvent, OverrideEvent, PaperPointer, read_outcome_event
from schemas.export import EVENTS
from tests.schemas.generated import dicts_in, instances, new_fields

ANY_EVENT = st.sampled_from(sorted(EVENTS)).flatmap(lambda name: instances(EVENTS[name]))


@given(ANY_EVENT)
def test_an_event_is_equal_after_json(event: Event):
    assert type(event).from_json(event.to_json()) == event
    assert type(event).from_dict(json.loads(event.to_json())) == event


@given(ANY_EVENT, st.data())
def test_unknown_fields_are_kept_at_each_depth(event: Event, data: st.DataObject):
    document = json.loads(event.to_json())
    for each in dicts_in(document):
        each.update(data.draw(new_fields))
    read = type(event).from_json(json.dumps(document))
    assert json.loads(read.to_json()) == document


def test_unknown_fields_are_kept_beside_defaults():
    document = {"schema_version": 1, "work": {"id": "doi:10.1/a", "ids": {"openalex": "W1"}}}
    assert json.loads(CatalogEvent.from_json(json.dumps(document)).to_json()) == document


@given(ANY_EVENT)
def test_defaults_are_absent_and_the_version_is_present(event: Event):
    document = json.loads(event.to_json())
    assert document["schema_version"] == SCHEMA_VERSION
    for name, info in type(event).model_fields.items():
        value = getattr(event, name)
        assert (name in document) == (info.is_required() or value != info.default), name


@pytest.mark.parametrize("name", EVENTS)
def test_the_version_is_required(name: str):
    with pytest.raises(BadRecord, match=r"schema_version: Field required|kind"):
        EVENTS[name].from_json("{}")


@given(ANY_EVENT, st.integers(SCHEMA_VERSION + 1, 10**6))
def test_a_newer_event_is_refused_with_advice(event: Event, version: int):
    document = json.loads(event.to_json()) | {"schema_version": version}
    with pytest.raises(BadRecord, match=rf"schema_version {version} is newer than 1\b.*upgrade the worker, then replay"):
        type(event).from_json(json.dumps(document))


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("document", [{"schema_version": 2}, {"schema_version": 2, "citing": 5, "references": "changed"}])
def test_an_invalid_newer_event_is_refused_as_newer(name: str, document: dict):
    with pytest.raises(BadRecord, match="upgrade the worker"):
        EVENTS[name].from_json(json.dumps(document))


def test_an_outcome_of_a_newer_kind_is_refused_as_newer():
    with pytest.raises(BadRecord, match="upgrade the worker"):
        read_outcome_event(b'{"schema_version": 2, "kind": "something new"}')


@given(st.sampled_from(["manifest", "outcomes"]).flatmap(lambda name: instances(EVENTS[name])))
def test_both_kinds_of_outcome_events_are_read(event: Event):
    read = read_outcome_event(event.to_json())
    assert type(read) is type(event)
    assert read == event


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "kind: None"),
        (b'{"kind": "other"}', "kind: 'other' is not one of manifest, outcomes"),
        (b'{"kind": ["manifest"]}', "kind"),
        (b'{"kind": "manifest", "schema_version": 1}', "citing: Field required"),
        (b"\xff\xfe", "not JSON"),
    ],
)
def test_an_invalid_outcome_event_is_refused_in_one_line(data: bytes, message: str):
    with pytest.raises(BadRecord, match=message) as refusal:
        read_outcome_event(data)
    assert "\n" not in str(refusal.value)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), st.sampled_from(sorted(EVENTS)))
def test_any_bytes_are_an_event_or_a_bad_record(data: bytes, name: str):
    with pytest.raises(BadRecord):
        EVENTS[name].from_json(data)


@pytest.mark.parametrize("work", [None, Work(id="a")])
def test_a_catalog_event_has_either_a_work_or_a_withdrawal(work: Work | None):
    with pytest.raises(ValueError, match="exactly one"):
        CatalogEvent(schema_version=1, work=work, withdrawn=None if work is None else "gone")


OVERRIDE = {"schema_version": 1, "reference": "doi:10.1/a#r1.1", "reason": "as its author wrote", "at": 1}


def test_an_override_has_the_paper_of_its_reference():
    assert OverrideEvent.from_dict(OVERRIDE | {"pinned": "doi:10.1/b"}).citing == "doi:10.1/a"
    assert OverrideEvent.from_dict(OVERRIDE | {"reference": "own-1#r#1.1", "nothing": True}).citing == "own-1"


@pytest.mark.parametrize(
    "decision",
    [{}, {"pinned": "doi:10.1/b", "nothing": True}, {"pinned": "doi:10.1/b", "forbidden": ["pmid:1"]},
     {"nothing": True, "forbidden": ["pmid:1"]}, {"nothing": False}, {"forbidden": []}],
)  # fmt: skip
def test_an_override_has_exactly_one_decision(decision: dict):
    with pytest.raises(BadRecord, match="exactly one of pinned, nothing and forbidden"):
        OverrideEvent.from_dict(OVERRIDE | decision)


@pytest.mark.parametrize(
    ("field", "value"),
    [("reference", "doi:10.1/a"), ("reference", "#r1.1"), ("reference", "a#"), ("reason", ""), ("pinned", "")],
)
def test_an_override_is_checked(field: str, value: str):
    with pytest.raises(BadRecord, match=field):
        OverrideEvent.from_dict({"nothing": True, **OVERRIDE, field: value})


@pytest.mark.parametrize(("field", "value"), [("sha256", "A" * 64), ("sha256", "a" * 63), ("size", -1), ("path", None)])
def test_a_pointer_is_checked(field: str, value: object):
    good = {"schema_version": 1, "path": "a/b", "sha256": "a" * 64, "size": 3}
    assert PaperPointer.from_dict(good).size == 3
    with pytest.raises(BadRecord, match=field):
        PaperPointer.from_dict(good | {field: value})


def test_events_cannot_be_changed():
    manifest = ManifestEvent(schema_version=1, kind="manifest", citing="c", paper_version=1, arrived=1, references=())
    with pytest.raises(ValueError, match="frozen"):
        manifest.citing = "d"
