"""Settings of the indexer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workers.config.broker import Seconds
from workers.config.engine import EngineSettings
from workers.config.settings import CatalogSettings, Count


class IndexerSettings(CatalogSettings, EngineSettings):
    """Settings of the indexer, which brings the catalog into a search engine. It starts an index from the snapshot, if any."""

    engine: Literal["opensearch"] = Field("opensearch", description="The kind of engine.")
    engine_shards: Count = Field(1, description="Shards of a new index: one for about 50 million works.")
    engine_replicas: int = Field(1, ge=0, description="Further copies of each shard of a new index, on other nodes.")
    index_works: Count = Field(2000, description="Maximum works in one bulk request.")
    index_requests: Count = Field(4, description="Bulk requests at a time while an index is filled from a snapshot.")
    index_backlog_s: Seconds = Field(
        30.0, description="While works wait to be indexed, interval in which those already indexed become visible to searches."
    )
