"""Filters of the works of a catalog: by title, language, type and year. Each is off unless it is set.

They apply to merged works: a record of one source may lack what another one has.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from reflink.catalog.title_language import title_language
from reflink.entities import Work
from reflink.sources.languages import language_code

#: Names of the reasons, in the order in which they are examined.
REASONS: Final = ("title", "language", "type", "year")


class Filters(BaseModel):
    """Which works to keep. A work whose language, type or year is not known passes the filter of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_title: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Minimum number of characters of a title; 10 in the published method. A work without title has 0.",
    )
    languages: tuple[str, ...] = Field(default=(), description="Languages to keep, as ISO 639 codes or English names.")
    detect_language: bool = Field(
        default=False, description="Detect the language from the title where the record has none; needs the extra languages."
    )
    types: tuple[str, ...] = Field(default=(), description="Types to keep, by the names of Crossref.")
    year_from: int | None = Field(default=None, description="First year to keep.")
    year_to: int | None = Field(default=None, description="Last year to keep.")

    @field_validator("languages")
    @classmethod
    def _codes(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        codes = {text: language_code(text) for text in given}
        if unknown := [text for text, code in codes.items() if code is None]:
            raise ValueError(f"unknown language: {', '.join(unknown)}")
        return tuple(filter(None, codes.values()))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.year_from is not None and self.year_to is not None and self.year_from > self.year_to:
            raise ValueError(f"year_from {self.year_from} is after year_to {self.year_to}")
        if self.detect_language and not self.languages:
            raise ValueError("detect_language has no effect without languages")
        return self

    def reason(self, work: Work) -> str | None:
        """Return why the work is left out, one of REASONS; None if it is kept. Raises PackageMissing without the detector."""
        if len((work.title or "").strip()) < self.min_title:
            return "title"
        if self.languages and (language := self._language(work)) is not None and language not in self.languages:
            return "language"
        if self.types and work.type is not None and work.type not in self.types:
            return "type"
        if work.year is None or (self.year_from or work.year) <= work.year <= (self.year_to or work.year):
            return None
        return "year"

    def _language(self, work: Work) -> str | None:
        if work.language is not None or not self.detect_language or not work.title:
            return work.language
        return title_language(work.title)
