"""Links of twenty papers for tests of replays."""

from __future__ import annotations

import pytest

from tests.workers.links import link, publish
from workers.config.settings import KafkaSettings

PAPERS = [f"doi:10.5555/p{n}" for n in range(20)]


@pytest.fixture
def linked(kafka: KafkaSettings) -> list[str]:
    """Publish three references of each paper, with older records of some; then delete some. Return the remaining ones."""
    references = [f"{paper}#r{n}" for paper in PAPERS for n in range(3)]
    publish(kafka, *(link(reference, "pmid:666") for reference in references[::4]))
    publish(kafka, *(link(reference, None if n % 3 else "pmid:1") for n, reference in enumerate(references)))
    publish(kafka, *references[::10])
    return [reference for n, reference in enumerate(references) if n % 10]
