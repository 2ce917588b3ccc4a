"""Write the JSON Schema of every event to a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from schemas.absence import SharesEvent, TallyEvent
from schemas.catalog import CatalogEvent
from schemas.contexts import ContextsEvent
from schemas.envelope import SCHEMA_VERSION, Event
from schemas.fallback import FallbackEvent
from schemas.links import LinkEvent, PaperState, PropagationState
from schemas.outcomes import ManifestEvent, OutcomesEvent
from schemas.overrides import OverrideEvent
from schemas.papers import PaperPointer
from schemas.references import ReferenceEvent

#: Models by file name without version and extension.
EVENTS: Final[dict[str, type[Event]]] = {
    "paper-pointer": PaperPointer,
    "reference": ReferenceEvent,
    "catalog": CatalogEvent,
    "fallback": FallbackEvent,
    "manifest": ManifestEvent,
    "outcomes": OutcomesEvent,
    "link": LinkEvent,
    "paper-state": PaperState,
    "propagation-state": PropagationState,
    "contexts": ContextsEvent,
    "override": OverrideEvent,
    "tally": TallyEvent,
    "shares": SharesEvent,
}


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one event."""
    schema = EVENTS[name].model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "x-schema-version": SCHEMA_VERSION, **schema}


def file_of(name: str) -> str:
    """Return the file name of an event's schema."""
    return f"{name}.v{SCHEMA_VERSION}.json"


def write_schemas(folder: Path) -> Iterator[Path]:
    """Write the schemas of all events to ``folder`` and yield their paths."""
    for name in EVENTS:
        path = folder / file_of(name)
        path.write_text(json.dumps(schema_of(name), indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        yield path
