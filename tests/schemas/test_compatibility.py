"""Released contracts stay readable, in both directions. The folders ``released/v*`` are what was released: never edit them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.export import EVENTS, file_of, schema_of
from tests.data import ROOT
from tests.schemas.compatibility import breaking_changes

RELEASED = Path(__file__).parent / "released"
EXAMPLES = sorted(RELEASED.glob("v*/*.json"))
SCHEMAS = sorted(RELEASED.glob("v*/schemas/*.json"))

#: Known changes, by event, that old readers do not understand. An old ledger refuses an outcome with a link by place, so it is
#: upgraded before the linkers; its dead letters contain the outcomes refused until then. Overrides and withdrawals show only in
#: ``links``, so readers of ``links`` are upgraded before the ledger.
_METHOD = (
    "method: enum was ['identifier', 'lexical', 'semantic'] and is ['curator', 'identifier', 'lexical', 'place', 'semantic']"
)
_UNRESOLVED = (
    "unresolved: enum was ['below-threshold', 'empty', 'no-candidate', 'not-in-catalog'] and is "
    "['ambiguous', 'below-threshold', 'empty', 'forbidden', 'no-candidate', 'not-in-catalog', 'other-version', 'withdrawn']"
)
KNOWN = {
    name: [f"{where}.{_METHOD}", f"{where}.{_UNRESOLVED}"]
    for name, where in {"link": "event.link", "outcomes": "event.items[].link"}.items()
}


def event_of(path: Path) -> str:
    """``link-unresolved.json`` and ``link.json`` are both examples of ``link``."""
    return max((name for name in EVENTS if path.stem.startswith(name)), key=len)


def paths_in(document: Any, above: str = "") -> set[str]:
    if isinstance(document, dict):
        return {path for key, value in document.items() for path in {f"{above}.{key}", *paths_in(value, f"{above}.{key}")}}
    if isinstance(document, list):
        return {path for value in document for path in paths_in(value, f"{above}[]")}
    return set()


def fields_of(schema: dict[str, Any], root: dict[str, Any], above: str = "") -> set[str]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    found = set()
    for name, field in schema.get("properties", {}).items():
        found |= {f"{above}.{name}", *fields_of(field, root, f"{above}.{name}")}
    for choice in schema.get("anyOf", ()):
        found |= fields_of(choice, root, above)
    if "items" in schema:
        found |= fields_of(schema["items"], root, f"{above}[]")
    return found


def released(name: str) -> Any:
    """Return a released schema."""
    return example(f"schemas/{name}")


def example(name: str) -> Any:
    """Return a file of the first release."""
    return json.loads((RELEASED / "v1" / f"{name}.json").read_text())


def assert_unchanged(name: str, document: dict[str, Any]) -> None:
    """Check that the event is read without unknown fields and written as it was."""
    event = EVENTS[name].from_json(json.dumps(document))
    assert not event.model_extra, name
    assert json.loads(event.to_json()) == document


@pytest.mark.parametrize("name", EVENTS)
def test_the_schema_files_are_current(name: str):
    path = ROOT / "schemas" / file_of(name)
    assert path.is_file(), f"{path.name} is missing: run `reflink-worker schemas schemas`"
    assert json.loads(path.read_text()) == json.loads(json.dumps(schema_of(name))), (
        f"{path.name} is not the model's schema any more: run `reflink-worker schemas schemas` and read the difference"
    )


def test_each_schema_file_belongs_to_an_event():
    assert {path.name for path in (ROOT / "schemas").glob("*.json")} >= {file_of(name) for name in EVENTS}
    current = {path.name for path in (ROOT / "schemas").glob("*.v1.json")}
    assert current == {f"{name}.v1.json" for name in EVENTS}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_released_events_are_read_and_written_unchanged(path: Path):
    assert_unchanged(event_of(path), json.loads(path.read_text()))


def test_the_released_examples_contain_each_field():
    seen: dict[str, set[str]] = {}
    for path in RELEASED.glob("v1/*.json"):
        seen.setdefault(event_of(path), set()).update(paths_in(json.loads(path.read_text())))
    assert set(seen) == set(EVENTS), "an event without an example"
    for name, paths in seen.items():
        assert fields_of(released(name), released(name)) == paths, name


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_the_present_schemas_break_no_released_contract(path: Path):
    changes = breaking_changes(json.loads(path.read_text()), schema_of(path.stem))
    advice = "breaks a released contract; add an optional field instead, or raise schema_version:"
    assert changes == KNOWN.get(path.stem, []), "\n".join([advice, *changes])


# The check itself


def field(schema: dict[str, Any], model: str, name: str) -> dict[str, Any]:
    return schema["$defs"][model]["properties"][name]


BREAKING: dict[str, Callable[[dict[str, Any]], object]] = {
    "event.judged: disappeared": lambda s: s["properties"].pop("judged"),
    "event.link.score: disappeared": lambda s: s["$defs"]["Link"]["properties"].pop("score"),
    "event.link.runner_up.cited: disappeared": lambda s: s["$defs"]["Candidate"]["properties"].pop("cited"),
    "event.citing: type was 'string' and is 'integer'": lambda s: s["properties"]["citing"].update(type="integer"),
    "event.link.score: type was 'number' and is 'string'": lambda s: field(s, "Link", "score")["anyOf"][0].update(
        type="string"
    ),
    "event.reference.last_names[]: type was": lambda s: field(s, "Reference", "last_names")["items"].update(type="integer"),
    "event.reference.year: was one of": lambda s: field(s, "Reference", "year")["anyOf"].append({"type": "string"}),
    "event.source: is required now": lambda s: (
        s["properties"].update(source={"type": "string"}),
        s["required"].append("source"),
    ),
    "event.live: is required now": lambda s: s["required"].append("live"),
    "event.arrived: is required no longer": lambda s: s["required"].remove("arrived"),
    "event.live: default was True and is False": lambda s: s["properties"]["live"].update(default=False),
    "event.link.method: enum was": lambda s: field(s, "Link", "method")["anyOf"][0]["enum"].append("guess"),
    "event.citing: pattern was None": lambda s: s["properties"]["citing"].update(pattern="^doi:"),
    "event: additionalProperties was True": lambda s: s.update(additionalProperties=False),
    "event.reference.last_names: items were": lambda s: field(s, "Reference", "last_names").pop("items"),
}


@pytest.mark.parametrize("expected", BREAKING)
def test_breaking_changes_are_found(expected: str):
    changed = copy.deepcopy(released("link"))
    BREAKING[expected](changed)
    changes = breaking_changes(released("link"), changed)
    assert len(changes) == 1, changes
    assert changes[0].startswith(expected)


def test_harmless_changes_are_accepted():
    changed = copy.deepcopy(released("link"))
    changed["properties"]["origin"] = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    changed["properties"]["citing"].update(title="Other", description="another description")
    changed["$defs"]["Link"]["properties"]["method"]["anyOf"][0]["enum"].reverse()
    changed["required"].reverse()
    changed["$defs"]["Renamed"] = changed["$defs"].pop("Link")
    changed["properties"]["link"]["$ref"] = "#/$defs/Renamed"
    assert breaking_changes(released("link"), changed) == []


def test_a_default_of_several_fields_may_only_gain_a_field_with_its_own_default():
    changed = released("fallback")
    found, default = changed["$defs"]["Found"]["properties"], field(changed, "Open", "found")["default"]
    found["places"] = {"type": "array", "items": {"type": "string"}, "default": []}
    default["places"] = []
    assert breaking_changes(released("fallback"), changed) == []
    default["places"] = ["doi:10.1/a"]
    assert len(breaking_changes(released("fallback"), changed)) == 1
    del default["places"], default["semantic"]
    assert len(breaking_changes(released("fallback"), changed)) == 1


def test_a_link_by_place_and_the_numbers_of_its_evidence_are_unchanged():
    document = example("link")
    document["link"] |= {"method": "place", "evidence": {"title": 0.97, "year": 1.0}}
    document["link"]["runner_up"]["probability"] = 0.25
    assert_unchanged("link", document)
    fallback = example("fallback")
    fallback["items"][0]["found"]["places"] = ["doi:10.1371/journal.pone.0000308"]
    assert_unchanged("fallback", fallback)


def test_the_related_work_of_an_outcome_travels():
    outcomes, link = example("outcomes"), example("link-unresolved")
    version = {"unresolved": "other-version", "related": {"work": "doi:10.5555/again", "relation": "update-of"}}
    outcomes["items"][0]["link"] |= version
    link["link"] |= version
    assert_unchanged("outcomes", outcomes)
    assert_unchanged("link", link)


def test_what_continuous_linking_added_travels():
    """Fields added after the release are read, and written unchanged."""
    judged = {"woken": 1763740800000, "model": "some-encoder@1", "policy": "0badcafe"}
    curated = {"action": "pinned", "reason": "the second edition is meant", "by": "a.curator", "at": 1763740800001}
    work = {"id": "doi:10.5555/citing", "title": "On citing", "status": "concern"}
    added: dict[str, dict[str, Any]] = {
        "reference": {"woken": 1763740800000, "forbidden": ["pmid:1"], "pinned": "pmid:2"},
        "fallback": judged,
        "outcomes": judged,
        "link": {**judged, "curated": curated, "aliases": ["pmid:1"], "shared": True},
        "manifest": {"offered": True, "work": work},
        "paper-state": {"kept": [0], "offered": True},
    }
    for name, fields in added.items():
        document = example(name) | fields
        for item in document.get("items", ()):
            item["forbidden"] = ["pmid:1", "doi:10.1371/journal.pone.0000308"]
            if name == "outcomes":
                item |= {"pinned": "pmid:2", "aliases": ["pmid:1"], "shared": True}
        assert_unchanged(name, document)
