"""What the linker waits for before it judges."""

from __future__ import annotations

import time

from reflink.catalog import Catalog
from reflink.entities import Ids, Reference, Work
from schemas import SCHEMA_VERSION, ReferenceEvent
from workers.following import CatalogFollower
from workers.linker import own_papers
from workers.settings import LinkerSettings

OWN = "doi:10.5555/own"


def event(**ids: str) -> ReferenceEvent:
    reference = Reference(id=f"{OWN}#r1.1", citing=OWN, position=1, ids=Ids(**ids))
    return ReferenceEvent(schema_version=SCHEMA_VERSION, citing=OWN, paper_version=1, arrived=0, reference=reference)


def test_only_a_reference_with_its_own_papers_identifier_is_waited_for():
    assert own_papers([event(doi="10.5555/other"), event()]) == set()
    assert own_papers([event(doi="10.5555/other"), event(doi="10.5555/own")]) == {OWN}


class News(CatalogFollower):
    """Brings the paper with the third look, or never."""

    def __init__(self, after: int) -> None:
        super().__init__(LinkerSettings(), Catalog.empty(lexical_mode=None), None)
        self.left = after

    def apply(self, seconds: float) -> bool:
        self.left -= 1
        if self.left == 0:
            self.catalog.add([Work(id=OWN)])
        return self.left == 0


def test_a_paper_that_comes_is_waited_for_and_one_that_does_not_only_so_long():
    coming = News(after=3)
    coming.wait_for_works({OWN}, 30.0)
    assert coming.catalog.get(OWN) is not None
    started = time.monotonic()
    News(after=-1).wait_for_works({OWN}, 0.05)
    assert time.monotonic() - started >= 0.05
