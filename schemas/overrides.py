"""Topic ``overrides``: decisions of curators, compacted by reference id, partitioned by citing id. Null value: lifted."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from schemas.envelope import Event


class OverrideEvent(Event):
    """A curator's decision for one reference. It outranks every outcome, past or future.

    Exactly one of three fields is set: ``pinned``, the id of the work that the reference cites, in the catalog or not;
    ``nothing``, the reference cites no work; ``forbidden``, works that it does not cite, while it may cite others. ``at`` is in
    milliseconds since 1970.
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
        """The id of the citing paper."""
        return self.reference.partition("#")[0]

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if (self.pinned is not None) + self.nothing + bool(self.forbidden) != 1:
            raise ValueError("exactly one of pinned, nothing and forbidden must be present")
        return self
