"""Topic ``catalog``: one partition, whose offset is the catalog's version. Key: work id. Null value: the work was withdrawn."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from reflink.entities import Work
from schemas.envelope import Event


class CatalogEvent(Event):
    """The current state of a work, or its withdrawal with the reason in ``withdrawn`` (a tombstone follows)."""

    work: Work | None = None
    withdrawn: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.work is None) == (self.withdrawn is None):
            raise ValueError("exactly one of work and withdrawn must be present")
        return self
