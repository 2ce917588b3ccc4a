"""Topic ``overrides``: what curators say, compacted by reference id, partitioned by citing id. Null: the override is lifted."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from schemas.envelope import Event


class OverrideEvent(Event):
    """A curator's word on one reference, which wins over every judgement, past and to come.

    Exactly one of three: ``pinned``, the id of the work that it cites (in the catalog or not); ``nothing``, it cites no work;
    ``forbidden``, works that it does not cite, whatever else it may. ``at``: milliseconds since 1970.
    """

    reference: Annotated[str, Field(pattern="^[^#]+#.+$")]
    pinned: Annotated[str, Field(min_length=1)] | None = None
    nothing: bool = False
    forbidden: tuple[str, ...] = ()
    reason: Annotated[str, Field(min_length=1)]
    by: str | None = None
    at: int

    @property
    def citing(self) -> str:
        """The paper that the reference is of."""
        return self.reference.partition("#")[0]

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if (self.pinned is not None) + self.nothing + bool(self.forbidden) != 1:
            raise ValueError("exactly one of pinned, nothing and forbidden must be there")
        return self
