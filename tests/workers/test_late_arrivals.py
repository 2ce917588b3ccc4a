"""Continuous linking, end to end: four worker processes on a real broker, and the final links of a reader of ``links``.

Works arrive after the papers that cite them, change and are withdrawn; papers are revised; curators write overrides; the ledger
is killed meanwhile.
"""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from reflink.entities import Ids, Work
from schemas import SCHEMA_VERSION, CatalogEvent
from tests.kafka import create_topics, new_prefix
from workers.cli import main
from workers.config.settings import KafkaSettings
from workers.demo.outcomes import OutcomeReader, Settled
from workers.demo.rest import Rest
from workers.devkit.broker import Broker
from workers.devkit.processes import WORKERS, Pipeline, Process
from workers.kafka.bulk_producer import Sender
from workers.papers.publishing import record_of

pytestmark = pytest.mark.full

ARTICLE: Final = """<article><front>
<journal-meta><journal-title-group><journal-title>Annals of Testing</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="doi">10.5555/{name}</article-id>
<title-group><article-title>{title}</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Lovelace</surname></name></contrib></contrib-group>
<pub-date><year>2019</year></pub-date><volume>4</volume><fpage>{page}</fpage></article-meta></front>
<back><ref-list>{references}</ref-list></back></article>"""
CITATION: Final = """<ref id="{id}"><element-citation publication-type="journal">
<person-group><name><surname>{author}</surname></name></person-group><article-title>{title}</article-title><source>{venue}</source><year>{year}</year><volume>{volume}</volume>
<fpage>{page}</fpage></element-citation></ref>"""

#: Titles of works are drawn from these words, so that no two titles are similar.
WORDS: Final = """tidal friction northern seas weaving algebra engines lichens granite walls churchyards resonance bronze bells
plague migration butterflies Sahara ledgers merchants herring glaciers moraine varves pollen amber beetles
comets orbits perihelion dialects fishermen nets cordage tallow candles monasteries vellum pigments lapis
quarries marble kilns ceramics glaze cobalt mordants indigo looms shuttles spindles carding flax retting
barley malting yeasts cellars oak staves coopers harbours pilots beacons""".split()
_NUMBERS: Final = itertools.count(1)


class World:
    """The inputs and the links of a running pipeline. Each test has its own papers and works."""

    def __init__(self, kafka: KafkaSettings, pipeline: Pipeline, reader: OutcomeReader, rest: Rest) -> None:
        self.kafka, self.pipeline, self.reader, self.rest = kafka, pipeline, reader, rest
        self.number = 0

    def begin(self) -> None:
        """Begin another test."""
        self.number = next(_NUMBERS)
        if not self.ledger.alive:  # an earlier test has failed
            self.restart_ledger()
        self.settle()
        self.reader.outcomes.published = []

    @property
    def ledger(self) -> Process:
        return self.pipeline.of("ledger")[0]

    def work(self, which: int = 0, **fields: object) -> Work:
        """Return a work of this test with its own author, volume and page."""
        base = {
            "id": f"doi:10.1000/{self.number}.{which}",
            "ids": Ids(doi=f"10.1000/{self.number}.{which}"),
            "title": " ".join(random.Random(f"{self.number} {which}").sample(WORDS, 7)),
            "authors": (f"Author{self._letters(which)}",),
            "venue": "Tides",
            "year": 1900 + 7 * self.number % 100 + which,
            "volume": str(10 * self.number + which),
            "fpage": str(1000 * self.number + which),
        }
        return Work.from_dict({**Work(**base).to_dict(), **fields})  # type: ignore[arg-type]

    def _letters(self, which: int) -> str:
        return "".join(chr(ord("a") + int(digit)) for digit in f"{self.number:03}{which}")

    def paper(self, cited: dict[str, Work], name: str = "paper", version: int | None = None) -> str:
        """Publish a paper that cites these works, given by the names of its references. Return its id."""
        own = f"{name}.{self.number}"
        references = "".join(
            CITATION.format(
                id=reference, author=work.authors[0], title=work.title, venue=work.venue, year=work.year, volume=work.volume,
                page=work.fpage,
            )
            for reference, work in cited.items()
        )  # fmt: skip
        data = ARTICLE.format(name=own, title=f"The {name} of test {self._letters(9)}", page=self.number, references=references)
        record = record_of("paper.xml", data.encode(), version=version)
        self.send("papers", record.key, record.value, record.headers)
        return record.key.decode()

    def load(self, *works: Work) -> None:
        for work in works:
            self.send("catalog", work.id.encode(), CatalogEvent(schema_version=SCHEMA_VERSION, work=work).to_json())

    def withdraw(self, work: Work) -> None:
        event = CatalogEvent(schema_version=SCHEMA_VERSION, withdrawn="its source withdrew it")
        self.send("catalog", work.id.encode(), event.to_json())
        self.send("catalog", work.id.encode(), None)

    def send(self, topic: str, key: bytes, value: bytes | None, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        with Sender(self.kafka) as sender:
            sender.send(topic, key, value, headers=headers)

    def links(self, citing: str) -> dict[str, str | None]:
        """Return the cited work by the name of the reference; ``withdrawn?`` if the work was withdrawn, which may change."""
        found = {}
        for reference, settled in self.reader.outcomes.references.items():
            if reference.startswith(f"{citing}#"):
                name = reference.partition("#")[2].removesuffix(".1")
                found[name] = "withdrawn?" if settled.link.unresolved == "withdrawn" else settled.link.cited
        return found

    def settled(self, citing: str, name: str) -> Settled:
        return self.reader.outcomes.references[f"{citing}#{name}.1"]

    def told(self, citing: str) -> list[str]:
        """Return the names of the references that had records in ``links`` since the last call."""
        outcomes = self.reader.outcomes
        published, outcomes.published = outcomes.published or [], []
        return sorted(each.partition("#")[2].removesuffix(".1") for each, _ in published if each.startswith(f"{citing}#"))

    def read(self) -> None:
        while self.reader.read(0.05):
            pass

    def until(self, condition: Callable[[], bool], what: Callable[[], object] = lambda: "") -> None:
        deadline = time.monotonic() + 120
        while not condition():
            self.pipeline.check()
            assert time.monotonic() < deadline, f"it did not come to pass: {what()}; logs in {self.pipeline.logs}"
            self.read()

    def becomes(self, citing: str, links: dict[str, str | None]) -> None:
        """Wait for exactly these links, and check that they stay the same until the pipeline is at rest."""
        self.until(lambda: self.links(citing) == links, lambda: f"{self.links(citing)}, expected {links}")
        self.settle()
        assert self.links(citing) == links

    def settle(self) -> None:
        self.until(self.rest.reached, lambda: "the pipeline is not at rest")
        self.read()

    def kill_ledger(self) -> None:
        self.ledger.kill()

    def restart_ledger(self, lost: str | None = None) -> None:
        """Restart the ledger. ``lost`` is a pattern of names in its state that are deleted before."""
        if lost is not None:
            found = list((self.pipeline.folder / "state").glob(lost))
            assert found, f"nothing in the ledger's state is called {lost}"
            for each in found:
                shutil.rmtree(each)
        self.ledger.restart()
        self.pipeline.wait_ready([self.ledger])


@pytest.fixture(scope="module")
def running(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    kafka = create_topics(broker.address, new_prefix())
    with Pipeline(
        tmp_path_factory.mktemp("late"),
        kafka_bootstrap_servers=kafka.kafka_bootstrap_servers,
        topic_prefix=kafka.topic_prefix,
        session_timeout_s=6.0,
        revocation_deadline_s=2.0,
        idle_commit_s=0.2,
    ) as pipeline:
        for worker in WORKERS:
            pipeline.start(worker)
        pipeline.wait_ready()
        with OutcomeReader(kafka) as reader, Rest(kafka, pipeline) as rest:
            yield World(kafka, pipeline, reader, rest)


@pytest.fixture
def world(running: World) -> World:
    running.begin()
    return running


# Works that arrive, change and are withdrawn


def test_a_work_that_comes_after_the_paper_is_linked_and_one_that_goes_is_not(world: World):
    first, second = world.work(0), world.work(1)
    paper = world.paper({"r1": first, "r2": second})
    world.becomes(paper, {"r1": None, "r2": None})
    world.told(paper)
    world.load(second)
    world.becomes(paper, {"r1": None, "r2": second.id})
    assert world.settled(paper, "r2").woken
    assert world.told(paper) == ["r2"], "the other one is not told again"
    world.load(first)
    world.becomes(paper, {"r1": first.id, "r2": second.id})
    world.withdraw(second)
    world.becomes(paper, {"r1": first.id, "r2": None})
    world.load(second)
    world.becomes(paper, {"r1": first.id, "r2": second.id})


def test_papers_that_cite_each_other_are_linked_whichever_comes_first_and_a_withdrawn_one_takes_its_links_along(world: World):
    def as_work(name: str) -> Work:
        title = f"The {name} of test {world._letters(9)}"
        return world.work(0, title=title, authors=["Lovelace"], venue="Annals of Testing", year=2019, volume="4",
                          fpage=str(world.number))  # fmt: skip

    one = world.paper({"r1": as_work("second")}, "first")
    world.becomes(one, {"r1": None})
    two = world.paper({"r1": as_work("first")}, "second")
    world.becomes(one, {"r1": two})
    world.becomes(two, {"r1": one})
    world.send("papers", two.encode(), None)
    world.becomes(two, {})
    world.becomes(one, {"r1": None})


def test_works_that_become_one_are_cited_by_the_smallest_id_and_status_shows(world: World):
    library, work = world.work(0, id=f"z:{world.number}", ids={}), world.work(0)
    paper = world.paper({"r1": work})
    world.load(library)
    world.becomes(paper, {"r1": library.id})
    world.load(library.model_copy(update={"ids": work.ids}), work)
    world.becomes(paper, {"r1": work.id})
    world.load(work.model_copy(update={"status": "retracted"}))
    world.until(lambda: world.settled(paper, "r1").link.status == "retracted")
    world.withdraw(work)
    world.becomes(paper, {"r1": library.id})
    world.withdraw(library)
    world.becomes(paper, {"r1": None})


def test_a_correction_takes_a_link_away_and_gives_it_back(world: World):
    work = world.work(0)
    other = world.work(0, title=world.work(5).title, authors=["Somebody"], year=1650, volume="9", fpage="9", venue="Elsewhere")
    paper = world.paper({"r1": work})
    world.load(work)
    world.becomes(paper, {"r1": work.id})
    world.load(other)
    world.becomes(paper, {"r1": None})
    world.load(work)
    world.becomes(paper, {"r1": work.id})


# Revisions


def test_a_revision_tells_what_has_changed_and_an_older_version_that_comes_late_nothing(world: World):
    works = [world.work(number) for number in range(5)]
    world.load(*works[:4])
    before = {"r1": works[0], "r2": works[4], "r3": works[1], "r4": works[2]}
    paper = world.paper(before, version=10)
    world.becomes(paper, {"r1": works[0].id, "r2": None, "r3": works[1].id, "r4": works[2].id})
    world.told(paper)
    world.paper({"r1": works[0], "r2": works[4], "r3": works[3]}, version=20)
    after = {"r1": works[0].id, "r2": None, "r3": works[3].id}
    world.becomes(paper, after)
    assert world.told(paper) == ["r3", "r4"]
    world.paper(before, version=15)
    world.settle()
    assert (world.links(paper), world.told(paper)) == (after, [])
    world.load(works[4])  # a reference that the revision left unchanged is still re-evaluated
    world.becomes(paper, {**after, "r2": works[4].id})


# Curators


@pytest.fixture
def override(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", world.kafka.kafka_bootstrap_servers)
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", world.kafka.topic_prefix)

    def run(verb: str, *arguments: str, reason: str | None = "because") -> None:
        reasons = [] if reason is None else ["--reason", reason]
        assert main(["override", verb, *arguments, *reasons, "--quiet"]) == 0, capsys.readouterr().err

    return run


def test_a_curator_wins_over_all_that_comes_until_it_is_lifted(world: World, override: Callable[..., None]):
    work, pinned = world.work(0), world.work(1)
    paper = world.paper({"r1": work, "r2": work})
    world.load(work, pinned)
    world.becomes(paper, {"r1": work.id, "r2": work.id})
    override("pin", f"{paper}#r1.1", pinned.id, "--wait", "60")
    override("forbid", f"{paper}#r2.1", work.id, "--wait", "60")
    world.becomes(paper, {"r1": pinned.id, "r2": None})
    assert world.settled(paper, "r1").link.method == "curator"
    world.load(work.model_copy(update={"status": "concern"}))
    world.paper({"r1": work, "r2": work}, version=int(time.time() * 1000) + 1000)
    world.becomes(paper, {"r1": pinned.id, "r2": None})
    override("lift", f"{paper}#r1.1", "--wait", "60", reason=None)
    override("lift", f"{paper}#r2.1", "--wait", "60", reason=None)
    world.becomes(paper, {"r1": work.id, "r2": work.id})
    assert {world.settled(paper, name).link.status for name in ("r1", "r2")} == {"concern"}


def test_an_override_of_a_paper_that_is_still_to_come_holds(world: World, override: Callable[..., None]):
    work = world.work(0)
    paper = f"doi:10.5555/paper.{world.number}"
    override("nothing", f"{paper}#r1.1", "--unknown")
    world.load(work)
    assert world.paper({"r1": work, "r2": work}) == paper
    world.becomes(paper, {"r1": None, "r2": work.id})
    curated = world.settled(paper, "r1").curated
    assert curated is not None
    assert curated.action == "nothing"


# The ledger is killed, and keeps or loses its state


@pytest.mark.parametrize(
    "lost", [None, "ledger-0", "ledger-0/links-*", "ledger-0/changes-*"], ids=["nothing", "all", "the links", "the log"]
)
def test_what_comes_while_the_ledger_is_gone_is_made_up_for(world: World, override: Callable[..., None], lost: str | None):
    works = [world.work(number) for number in range(5)]
    stays, goes, comes, pinned, dropped = works
    world.load(stays, goes, pinned, dropped)
    paper = world.paper({"r1": stays, "r2": goes, "r3": comes, "r4": stays, "r5": dropped}, version=1)
    world.becomes(paper, {"r1": stays.id, "r2": goes.id, "r3": None, "r4": stays.id, "r5": dropped.id})
    world.told(paper)
    world.kill_ledger()
    world.load(comes)
    world.withdraw(goes)
    override("pin", f"{paper}#r4.1", pinned.id)
    world.paper({"r1": stays, "r2": goes, "r3": comes, "r4": stays}, version=2)
    world.restart_ledger(lost)
    world.becomes(paper, {"r1": stays.id, "r2": None, "r3": comes.id, "r4": pinned.id})
    assert "r1" not in world.told(paper), "it says what it said"
    world.kill_ledger()
    world.restart_ledger(lost)
    world.settle()
    assert world.told(paper) == [], "a restart tells nothing"
    world.withdraw(comes)
    world.load(goes)
    world.becomes(paper, {"r1": stays.id, "r2": goes.id, "r3": None, "r4": pinned.id})


def test_a_ledger_that_is_killed_again_and_again_while_works_come_and_go_misses_none(world: World):
    works = [world.work(number) for number in range(36)]
    gone, late = works[:12], works[24:]
    world.load(*works[:24])
    papers = {
        world.paper({f"r{each}": works[each] for each in range(first, 36, 4)}, f"part{first}"): first for first in range(4)
    }
    for paper, first in papers.items():
        world.becomes(paper, {f"r{each}": works[each].id if each < 24 else None for each in range(first, 36, 4)})
    for number, (leaves, comes) in enumerate(zip(gone, late, strict=True)):
        world.withdraw(leaves)
        world.load(comes)
        if number % 4 == 1:
            world.kill_ledger()
        if number % 4 == 3:
            world.restart_ledger("ledger-0" if number == 7 else None)
    world.settle()
    for paper, first in papers.items():
        assert world.links(paper) == {f"r{each}": works[each].id if each >= 12 else None for each in range(first, 36, 4)}
