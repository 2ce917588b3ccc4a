"""Settings of the search engine that proposes candidates from a large catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from workers.config.broker import KafkaSettings, Seconds

#: Characters that engines refuse in the name of an index.
_REFUSED: Final = frozenset('\\/*?"<>| ,#:')

Hits = Annotated[int, Field(ge=1, le=1000)]


class EngineSettings(KafkaSettings):
    """The connection to OpenSearch or Elasticsearch, and the name of its index."""

    engine: Literal["native", "opensearch"] = Field(
        "native",
        description="What proposes candidates by text. `native`: the catalog's own vectors and trigrams. `opensearch`: the "
        "index that the indexer keeps in OpenSearch or Elasticsearch (docs/scale.md). Linker and fallback need the same value.",
    )
    engine_urls: str | None = Field(
        None, description="Nodes of the engine as `http(s)://host:port`, separated by commas; required with `opensearch`."
    )
    engine_index: str = Field(
        "reflink-catalog",
        min_length=1,
        max_length=200,
        description="Alias of the index in the search engine. The index itself is named after it and the time of its creation.",
    )
    engine_username: str | None = Field(None, description="User of the search engine, for basic authentication.")
    engine_password: SecretStr | None = Field(None, description="Its password. It is never displayed or logged.")
    engine_ca_file: Path | None = Field(
        None, description="PEM file of the authorities that sign the certificates of the nodes. Unset: those of the system."
    )
    engine_timeout_s: Seconds = Field(10.0, description="Maximum duration of one request to the search engine.")

    @field_validator("engine_index")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if name != name.lower() or name[0] in "-_+." or not _REFUSED.isdisjoint(name):
            raise ValueError("an index has a name of lower-case letters, digits, dots and dashes, which begins with a letter")
        return name

    @model_validator(mode="after")
    def _engine_is_whole(self) -> Self:
        if self.engine == "opensearch" and not self.engine_urls:
            raise ValueError("REFLINK_ENGINE_URLS is required with REFLINK_ENGINE=opensearch")
        if (self.engine_username is None) != (self.engine_password is None):
            raise ValueError("REFLINK_ENGINE_USERNAME and REFLINK_ENGINE_PASSWORD are required together")
        return self


class EngineSearchSettings(EngineSettings):
    """Settings of the searches of linker and fallback."""

    engine_hits: Hits = Field(20, description="Number of works that the linker's search in an engine returns.")
    engine_wider_hits: Hits = Field(100, description="Number of works that the fallback's search in an engine returns.")
