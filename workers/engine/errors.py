"""Errors of the search engine."""

from __future__ import annotations

from reflink.errors import ReflinkError
from workers.errors import ServiceRefused, ServiceUnavailable


class EngineUnavailable(ServiceUnavailable):
    """The engine does not answer, is overloaded, or lacks a shard. The request may succeed later."""


class EngineTimeout(EngineUnavailable):
    """The engine did not answer in time. A smaller request may succeed."""


class EngineRefused(ServiceRefused):
    """The engine refuses the client, or its index is of another catalog; only an operator can help."""


class EngineError(ReflinkError):
    """The engine rejects a request. Only what the request contains can be at fault."""


class Conflict(EngineError):
    """The document has a newer version."""


class NotFound(EngineError):
    """The index, alias or document does not exist."""
