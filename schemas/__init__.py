"""The event contracts between reflink's workers, and towards their readers. One module per kind of event.

Each topic's value is one of these models as JSON; the JSON Schema of every model lies beside it. Rules that hold for all:

- fields that hold their default are absent;
- readers keep and pass on what they do not know, so a new field is never a new ``schema_version``;
- ``schema_version`` rises only when an old reader would misread an event; a reader refuses what is newer than it knows.
"""

from schemas.catalog import CatalogEvent
from schemas.envelope import SCHEMA_VERSION, Event
from schemas.fallback import FallbackEvent
from schemas.links import LinkEvent
from schemas.outcomes import ManifestEvent, Outcome, OutcomesEvent, read_outcome_event
from schemas.overrides import OverrideEvent
from schemas.papers import PaperPointer
from schemas.references import ReferenceEvent

__all__ = [
    "SCHEMA_VERSION",
    "CatalogEvent",
    "Event",
    "FallbackEvent",
    "LinkEvent",
    "ManifestEvent",
    "Outcome",
    "OutcomesEvent",
    "OverrideEvent",
    "PaperPointer",
    "ReferenceEvent",
    "read_outcome_event",
]
