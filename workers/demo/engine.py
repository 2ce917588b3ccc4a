"""The demo's search engine: a node of its own, or the nodes of ``REFLINK_ENGINE_URLS`` with an index of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from workers.config import settings as configuration
from workers.config.engine import EngineSettings
from workers.demo.display import Display
from workers.devkit.requirements import URLS
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.index import Index, names

_HEAP_MB: Final = 512


@contextmanager
def engine(folder: Path, display: Display) -> Iterator[dict[str, Any]]:
    """Yield the workers' settings of a search engine. Deletes the index, or the node with its data, at the end.

    Raises LocalSetupError.
    """
    index = f"reflink-demo-{uuid.uuid4().hex[:8]}"
    if urls := os.environ.get(URLS):
        chosen: dict[str, Any] = {"engine": "opensearch", "engine_urls": urls, "engine_index": index}
        try:
            yield chosen
        finally:
            client = Engine(configuration.read(EngineSettings, **chosen))
            for name in names(client, index):
                Index(client, name).delete()
            client.close()
        return
    with display.step("OpenSearch"):
        node = SearchEngine.start(folder / "engine", heap_mb=_HEAP_MB)
    with node:
        display.print(f"OpenSearch listens on {node.urls[0]}")
        yield {"engine": "opensearch", "engine_urls": node.urls[0], "engine_index": index}
