"""The contracts of the events that reflink's workers exchange and publish. One module per kind of event.

The value of a record is one of these models as JSON. The JSON Schema of each model is in this folder. Rules for all events:

- Fields that have their default value are omitted.
- Readers keep and pass on unknown fields, so a new field never requires a new ``schema_version``.
- ``schema_version`` rises only if an old reader would misread an event. A reader refuses a version newer than its own.
"""

from schemas.catalog import CatalogEvent
from schemas.contexts import ContextsEvent
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
    "ContextsEvent",
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
