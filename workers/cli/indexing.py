"""The commands ``indexer`` and ``reindex``: keep the catalog in a search engine, and build its index again."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import Final

from workers.cli.command import AddCommand
from workers.config import settings as configuration
from workers.config.unknown_names import unknown_names

log = logging.getLogger(__name__)

_INDEXER: Final = """\
Reads the catalog topic in order and keeps the index REFLINK_ENGINE_INDEX at REFLINK_ENGINE_URLS up to date. Linkers and
fallbacks with REFLINK_ENGINE=opensearch search it. Without an index it makes one, from REFLINK_CATALOG_SNAPSHOT if set, else
from the beginning of the topic; the index serves when it is complete. One process suffices; a second one does no harm.

  REFLINK_ENGINE_URLS=http://127.0.0.1:9200 reflink-worker indexer
"""
_REINDEX: Final = """\
Makes another index beside the one that serves, from REFLINK_CATALOG_SNAPSHOT if set, else from the beginning of the topic.
When it is complete, linkers, fallbacks and the indexer go over to it in one step, and the former index is deleted. A run that
was killed goes on where it was. Needed after a change of the number of shards, a recreated topic, or an update of reflink that
refuses the index.

  REFLINK_ENGINE_SHARDS=5 reflink-worker reindex
"""


def add_to(command: AddCommand) -> None:
    """Add the commands ``indexer`` and ``reindex``."""
    command("indexer", "run an indexer: the catalog topic into a search engine", _indexer, _INDEXER)
    command("reindex", "build the index of the search engine again while the workers run", _reindex, _REINDEX)


def _indexer(_: argparse.Namespace) -> int:
    return _run(rebuild=False)


def _reindex(_: argparse.Namespace) -> int:
    return _run(rebuild=True)


def _run(*, rebuild: bool) -> int:
    from workers.config.indexer import IndexerSettings
    from workers.engine.service import IndexerService
    from workers.telemetry import logs

    settings = configuration.read(IndexerSettings)
    logs.set_up(settings.log_level, worker="reindex" if rebuild else "indexer", slot=settings.slot)
    if unknown := unknown_names(os.environ):
        log.warning("unknown settings ignored; similar names of settings are beside them", extra={"names": unknown})
    IndexerService(settings, rebuild=rebuild).run_until_signalled()
    sys.stderr.flush()
    return 0
