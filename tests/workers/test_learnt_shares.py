"""The shares of absent works, end to end: the ledger learns them from outcomes, and linkers with ``auto`` judge under them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from reflink.catalog import Catalog
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from reflink.linking.shares import Shares
from schemas import LinkEvent
from schemas.absence import SHARES_KEY, SharesEvent, read_absence
from tests.kafka import create_topics, new_prefix, read_all
from tests.workers.corpus import example_papers, loaded, parsed
from tests.workers.echo import until
from workers.config.settings import KafkaSettings
from workers.devkit.processes import WORKERS, Pipeline
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of

pytestmark = pytest.mark.full

#: References to absent works: with them three tallies of 500 are published, more than the shares in use require.
ABSENT: Final = 1600
#: The registrant of the papers that cite them.
SOURCE: Final = "10.4444"
_OF_A_PAPER: Final = 400


@dataclass(frozen=True)
class Stream:
    """A running pipeline and its topics."""

    kafka: KafkaSettings
    pipeline: Pipeline

    def publish(self, papers: dict[str, bytes], references: int) -> None:
        """Publish the papers, and wait until ``links`` has that many references."""
        with Sender(self.kafka) as sender:
            publish((record_of(name, data) for name, data in papers.items()), sender)
        until(lambda: self.pipeline.check() or len(self.links()) >= references, 180, "all outcomes")

    def links(self) -> dict[str, LinkEvent]:
        return {each.key.decode(): LinkEvent.from_json(each.value) for each in read_all(self.kafka, "links") if each.value}

    def published(self) -> list[Shares]:
        """Return the shares in use, oldest first, as a reader of the topic sees them."""
        events = [read_absence(each.key, each.value) for each in read_all(self.kafka, "absence") if each.key == SHARES_KEY]
        return [
            Shares(event.overall, {each.source: each.absent for each in event.sources})
            for event in events
            if isinstance(event, SharesEvent)
        ]

    def metric(self, worker: str, name: str, source: str) -> float:
        return self.pipeline.of(worker)[0].metrics().sum(name, source=source)  # type: ignore[arg-type]


def untitled(name: str, numbers: Sequence[int]) -> bytes:
    """Return a paper whose references have only journal, year, volume and page, of works that no catalog has."""
    cited = (f"<mixed-citation>J Absent. 1871;{each}(1):{each}-9</mixed-citation>" for each in numbers)
    entries = "".join(f"<ref id='r{row}'>{each}</ref>" for row, each in enumerate(cited))
    return (
        f'<article><front><article-meta><article-id pub-id-type="doi">{SOURCE}/{name}</article-id>'
        f"<title-group><article-title>Paper {name}</article-title></title-group></article-meta></front>"
        f"<back><ref-list>{entries}</ref-list></back></article>"
    ).encode()


@pytest.fixture(scope="module")
def stream(broker, works, snapshot, tmp_path_factory) -> Iterator[Stream]:
    """A pipeline that has linked ABSENT references of absent works and has learnt from them."""
    kafka = create_topics(broker.address, new_prefix(), partitions=1)
    folder = tmp_path_factory.mktemp("learnt")
    settings = {
        "catalog_snapshot": loaded(works, snapshot, kafka, folder),
        "kafka_bootstrap_servers": broker.address,
        "topic_prefix": kafka.topic_prefix,
        "precision": "fp32",
        "query_precision": "fp32",
        "offer_papers": "false",
        "idle_commit_s": 0.2,
        "absent": "auto",
    }
    with Pipeline(folder, **settings) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        found = Stream(kafka, pipeline)
        firsts = range(1000, 1000 + ABSENT, _OF_A_PAPER)
        found.publish({f"p{each}.xml": untitled(f"p{each}", range(each, each + _OF_A_PAPER)) for each in firsts}, ABSENT)
        until(lambda: pipeline.check() or found.published(), 60, "shares in use")
        used = found.published()[-1].of(f"doi:{SOURCE}/x")
        until(lambda: found.metric("linker", "reflink_absent_share", SOURCE) == used, 30, "the linker's shares")
        yield found


def test_a_source_without_cited_works_gets_a_large_share(stream: Stream):
    assert stream.published()[-1].sources[SOURCE] > 0.9
    assert min(event.absent for event in stream.links().values()) == 0.5  # judged before anything was learnt


def test_later_papers_are_judged_under_the_learnt_shares_as_the_library_does(stream: Stream, snapshot, encoder):
    papers = parsed(example_papers())
    before = len(stream.links())
    stream.publish(example_papers(), before + sum(len(paper.references) for paper in papers))
    links, published = stream.links(), stream.published()
    catalog = Catalog.open(snapshot)
    linked = 0
    for paper in papers:
        for share in {links[each.id].absent for each in paper.references}:
            assert share in {each.of(paper.id) for each in published}
            linker = Linker(catalog, encoder, Policy(absent=share))
            references = [each for each in paper.references if links[each.id].absent == share]
            for reference, expected in zip(references, linker.link(references), strict=True):
                link = links[reference.id].link
                assert (link.cited, link.unresolved) == (expected.cited, expected.unresolved)
                assert link.probability == pytest.approx(expected.probability, abs=1e-6)
                linked += link.cited is not None
    assert linked


def test_a_ledger_without_its_disk_and_a_new_linker_continue_with_what_was_learnt(stream: Stream):
    counted = stream.metric("ledger", "reflink_absent_share_references", "all")
    assert counted > 1000
    ledger, linker = stream.pipeline.of("ledger")[0], stream.pipeline.of("linker")[0]
    ledger.kill()
    linker.kill()
    shares = stream.published()[-1]
    shutil.rmtree(stream.pipeline.folder / "state" / "ledger-0")
    ledger.restart()
    linker.restart()
    stream.pipeline.wait_ready()
    before = len(stream.links())
    stream.publish({"after.xml": untitled("after", range(5000, 5010))}, before + 10)
    assert stream.published()[-1] == shares
    assert stream.metric("ledger", "reflink_absent_share_references", "all") >= counted
    after = [event.absent for name, event in stream.links().items() if name.startswith(f"doi:{SOURCE}/after#")]
    assert after == [shares.of(f"doi:{SOURCE}/after")] * 10
