"""The rules by which records of one work are merged. A user can set them in a TOML file."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reflink.entities import ID_KINDS, Work
from reflink.entity_base import read_toml

#: Version of the code that merges and compares records. A change that makes other works raises it: states are settled anew.
VERSION: Final = 1
#: Fields that may have an order of sources of their own.
ORDERED: Final = tuple(name for name in Work.model_fields if name not in ("id", "ids"))


class Rules(BaseModel):
    """Rules of merging. An order of sources names the best first; sources that it does not name follow by their names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: tuple[str, ...] = Field(
        default=("medline", "crossref", "pmc", "datacite", "arxiv", "openalex", "s2", "csl", "bibtex", "ris"),
        description="Order of the sources. A field comes from the first record that has it.",
    )
    fields: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Order of the sources of single fields, where it is not ``order``."
    )
    own: dict[str, str] = Field(
        default={"medline": "pmid", "crossref": "doi", "datacite": "doi", "pmc": "pmcid", "arxiv": "arxiv"},
        description="The kind of identifier that a source assigns or registers. Of unlike records its record keeps it.",
    )
    status: tuple[str, ...] = Field(
        default=("retracted", "withdrawn", "concern", "corrected"),
        description="Statuses, most serious first: the most serious one of the records wins.",
    )
    join_preprints: bool = Field(
        default=False, description="Whether a preprint and the published article are one work if a record names both."
    )
    compare: bool = Field(
        default=False, description="Compare records that share no identifier, and join those that are probably one article."
    )
    min_probability: Annotated[float, Field(ge=0.5, le=1)] = Field(
        default=0.95, description="Minimum probability that two records without a common identifier are joined."
    )
    max_records: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=30,
        description="Maximum number of records of one work. Others with its identifiers stay apart, and are reported.",
    )
    max_bearers: Annotated[int, Field(ge=2, le=1000)] = Field(
        default=20,
        description="Number of records above which an identifier does not join records: it names a volume or is wrong.",
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if unknown := set(self.fields) - set(ORDERED):
            raise ValueError(f"fields: {', '.join(sorted(unknown))}: not one of {', '.join(ORDERED)}")
        if unknown := set(self.own.values()) - set(ID_KINDS):
            raise ValueError(f"own: {', '.join(sorted(unknown))}: not one of {', '.join(ID_KINDS)}")
        return self

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Position of each source in ``order``."""
        return {source: rank for rank, source in enumerate(self.order)}

    @cached_property
    def field_ranks(self) -> dict[str, dict[str, int]]:
        """Position of each source in the order of a field that has its own."""
        return {name: {source: rank for rank, source in enumerate(order)} for name, order in self.fields.items()}


def read_rules(path: Path) -> Rules:
    """Read rules from a TOML file; what it leaves out has its default. Raises OSError, and BadRecord with the fault."""
    return read_toml(Rules, path)
