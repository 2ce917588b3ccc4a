"""Papers through all four workers as processes on a real broker: the outcomes equal those of the library alone."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from reflink.catalog import Catalog
from reflink.contexts.engine import contexts_of
from reflink.errors import NotAPaper
from reflink.formats import Content, Options, Parsed, parse
from reflink.linking.linker import Linker
from reflink.linking.policy import Policy
from schemas import ContextsEvent, LinkEvent
from tests.kafka import create_topics, new_prefix, read_all, send
from tests.workers.corpus import EXAMPLES, example_papers, loaded, parsed
from tests.workers.echo import until
from tests.workers.links import links_of, scores_apart
from workers.config.settings import KafkaSettings
from workers.devkit.processes import WORKERS, Pipeline
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import publish, record_of


@pytest.fixture(scope="module")
def flow(broker, works, snapshot, tmp_path_factory) -> Iterator[tuple[KafkaSettings, Pipeline]]:
    kafka = create_topics(broker.address, new_prefix())
    folder = tmp_path_factory.mktemp("flow")
    settings = {
        "catalog_snapshot": loaded(works, snapshot, kafka, folder),
        "kafka_bootstrap_servers": broker.address,
        "topic_prefix": kafka.topic_prefix,
        "precision": "fp32",
        "query_precision": "fp32",
        "offer_papers": "false",
        "contexts": "true",
        "idle_commit_s": 0.2,
    }
    with Pipeline(folder, **settings) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        with Sender(kafka) as sender:
            publish((record_of(name, data) for name, data in example_papers().items()), sender)
        expected = sum(len(paper.references) for paper in parsed(example_papers()))
        until(lambda: pipeline.check() or len(links_of(kafka)) >= expected, 180, "all outcomes")
        yield kafka, pipeline


def test_the_outcomes_are_those_of_the_library_alone(flow, snapshot, encoder):
    kafka, _ = flow
    linker = Linker(Catalog.open(snapshot), encoder, Policy())
    streamed = links_of(kafka)
    papers = parsed(example_papers())
    assert sorted(streamed) == sorted(reference.id for paper in papers for reference in paper.references)
    for paper in papers:
        for reference, link in zip(paper.references, linker.link(paper.references), strict=True):
            event = streamed[reference.id]
            assert event.reference == reference
            (fields, scores), (expected, expected_scores) = scores_apart(event.link), scores_apart(link)
            assert fields == expected
            assert scores == pytest.approx(expected_scores, abs=1e-4)


def test_every_outcome_was_published_once_beside_its_paper(flow):
    kafka, _ = flow
    records = read_all(kafka, "links")
    assert len({record.key for record in records}) == len(records)
    partitions: dict[str, set[int]] = {}
    for record in records:
        event = LinkEvent.from_json(record.value)
        partitions.setdefault(event.citing, set()).add(record.partition)
        kind = record.header("reflink-outcome")
        assert kind == ("linked" if event.link.cited else "unresolved")
        assert event.arrived <= event.judged <= record.timestamp
    assert all(len(each) == 1 for each in partitions.values())


def test_every_reference_has_its_contexts_once_beside_its_link(flow):
    kafka, _ = flow
    records = read_all(kafka, "contexts")
    papers = [each for data in example_papers().values() for each in text_of(data)]
    expected = {name: found for each in papers for name, found in contexts_of(each.paper, each.paragraphs).items()}
    assert sorted(record.key.decode() for record in records) == sorted(expected)
    assert {record.key.decode(): ContextsEvent.from_json(record.value).contexts for record in records} == expected
    places = {record.key: record.partition for record in read_all(kafka, "links")}
    assert all(places[record.key] == record.partition for record in records)


def text_of(data: bytes) -> tuple[Parsed, ...]:
    try:
        return parse(Content(data), options=Options(text=True))
    except NotAPaper:
        return ()


def test_papers_that_are_none_are_dead_letters_with_the_reason(flow):
    kafka, _ = flow
    dead = {
        record.key.decode(): record for record in read_all(kafka, "dead-letters") if record.header("reflink-topic") == "papers"
    }
    expected = orjson.loads((EXAMPLES / "expected.json").read_bytes())["dead_letters"]
    assert set(expected) <= set(dead)
    for name in expected:
        assert dead[name].header("reflink-exception") == "NotAPaper"
        assert dead[name].header("reflink-message")


def test_poison_in_every_topic_is_dead_lettered_and_the_rest_goes_on(flow, works):
    kafka, pipeline = flow
    before = len(read_all(kafka, "dead-letters"))
    topics = ("papers", "references", "retries", "fallback", "outcomes", "catalog")
    for topic in topics:
        send(kafka, topic, [(b"poison", b'{"neither": "one thing nor another"'), (b"poison", b"\xff\x00")])
    paper = (
        b'<article><front><article-meta><article-id pub-id-type="doi">10.5555/reflink.after.poison</article-id><title-group>'
        b"<article-title>After the poison</article-title></title-group></article-meta></front><back><ref-list><ref id='r1'>"
        b'<mixed-citation><pub-id pub-id-type="doi">%s</pub-id><article-title>%s</article-title></mixed-citation></ref>'
        b"</ref-list></back></article>"
    )
    work = next(work for work in works if work.ids.doi and work.title and len(work.title) > 40 and "&" not in work.title)
    with Sender(kafka) as sender:
        publish([record_of("after.xml", paper % (work.ids.doi.encode(), work.title.encode()))], sender)
    reference = "doi:10.5555/reflink.after.poison#r1.1"
    until(lambda: pipeline.check() or reference in links_of(kafka), 60)
    until(lambda: len(read_all(kafka, "dead-letters")) == before + 2 * len(topics), 60, "a dead letter for every poison")
    dead = read_all(kafka, "dead-letters")[before:]
    assert {record.header("reflink-topic") for record in dead} == set(topics)
    assert all(record.value in (b'{"neither": "one thing nor another"', b"\xff\x00") for record in dead)
    assert {record.header("reflink-worker") for record in dead} == set(WORKERS)


def test_a_revision_and_a_withdrawal(flow):
    kafka, pipeline = flow

    def version(number: int, references: list[str]) -> None:
        entries = "".join(
            f'<ref id="{each}"><mixed-citation>Nobody {each}. Nothing. 1900.</mixed-citation></ref>' for each in references
        )
        xml = (
            '<article><front><article-meta><article-id pub-id-type="doi">10.5555/reflink.revised</article-id><title-group>'
            "<article-title>Revised</article-title></title-group></article-meta></front>"
            f"<back><ref-list>{entries}</ref-list></back></article>"
        )
        with Sender(kafka) as sender:
            publish([record_of("revised.xml", xml.encode(), version=number)], sender)

    def current() -> set[str]:
        return {key.split("#")[1] for key in links_of(kafka) if key.startswith("doi:10.5555/reflink.revised#")}

    version(1, ["a", "b"])
    until(lambda: pipeline.check() or current() == {"a.1", "b.1"})
    version(3, ["b", "c"])
    until(lambda: pipeline.check() or current() == {"b.1", "c.1"})
    version(2, ["a", "d"])  # an older version that arrives late
    version(4, ["c", "e"])
    until(lambda: pipeline.check() or current() == {"c.1", "e.1"})
    with Sender(kafka) as sender:
        sender.send("papers", b"doi:10.5555/reflink.revised", None)
    until(lambda: pipeline.check() or current() == set())
