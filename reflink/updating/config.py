"""The configuration of an update: sources with their folders, rules of merging, and filters, in one TOML file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

import pydantic
from pydantic import BaseModel, ConfigDict, Field, field_validator

from reflink.catalog.filters import Filters
from reflink.entity_base import bad_record, read_toml
from reflink.merging import Rules
from reflink.sources.registry import NAMES, source
from reflink.updating.update import Input


class SourceConfig(BaseModel):
    """A source of the catalog. Relative paths are relative to the folder of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="Name of the source: " + ", ".join(NAMES) + ".")
    paths: Annotated[tuple[Path, ...], Field(min_length=1)] = Field(description="Files and folders of the source.")
    max_age_days: Annotated[float, Field(ge=0)] = Field(
        default=0, description="Age of the newest file from which an alert reports the source as old; 0: never."
    )
    complete: bool = Field(default=False, description="The files are all that the source has: other records of it are removed.")

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in NAMES:
            raise ValueError(f"{name!r} is not one of {', '.join(NAMES)}")
        return name


class Config(BaseModel):
    """The configuration of an update."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: Annotated[tuple[SourceConfig, ...], Field(min_length=1)] = Field(description="The sources, in any order.")
    rules: Rules = Field(default_factory=Rules, description="Rules by which records of one work are merged.")
    filters: Filters = Field(default_factory=Filters, description="Works that do not enter the catalog.")
    max_removed: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.05, description="Largest share of the works, and of the records of a source, that one update may remove."
    )

    @classmethod
    def of(cls, name: str, paths: Iterable[str | Path], rules: Rules | None = None, filters: Filters | None = None) -> Self:
        """Return the configuration of one source. Raises BadRecord."""
        try:
            one = SourceConfig(name=name, paths=tuple(map(Path, paths)))
            return cls(sources=(one,), rules=rules or Rules(), filters=filters or Filters())
        except pydantic.ValidationError as error:
            raise bad_record("source", error) from None

    @field_validator("sources")
    @classmethod
    def _distinct(cls, sources: tuple[SourceConfig, ...]) -> tuple[SourceConfig, ...]:
        names = [each.name for each in sources]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{', '.join(sorted(twice))} occurs twice: give all paths of a source in one entry")
        return sources

    def inputs(self, folder: Path) -> list[Input]:
        """Return the sources with paths relative to ``folder``."""
        return [Input(source(each.name), tuple(folder / path for path in each.paths), each.complete) for each in self.sources]


def read_config(path: Path) -> Config:
    """Read a configuration. Raises OSError, and BadRecord with the name of the first invalid field."""
    return read_toml(Config, path)
