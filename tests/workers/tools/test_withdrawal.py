"""Withdrawing papers: the new version outranks the known one and no later one, and the command reports the outcome."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.links import PaperState
from schemas.papers import VERSION_HEADER
from tests.kafka import create_topics, new_prefix, read_all, send, worker_settings
from tests.workers.commands import Command, set_environment
from tests.workers.echo import meanwhile, running, until
from workers.config.settings import KafkaSettings, LedgerSettings, ParserSettings
from workers.devkit.broker import Broker
from workers.ledger.stage import LedgerStage
from workers.papers.stage import ParserStage

XML = """<article><front><article-meta><article-id pub-id-type="doi">{doi}</article-id></article-meta></front><back><ref-list>
<ref id="a"><mixed-citation>A. Title of it. 1999.</mixed-citation></ref></ref-list></back></article>"""
#: One more than the largest version that the parser accepts.
TOO_LARGE = 10**18


@pytest.fixture(scope="module")
def pipeline(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSettings]:
    """Run a parser and a ledger on new topics."""
    kafka, state = create_topics(broker.address, new_prefix()), tmp_path_factory.mktemp("state")
    parser, ledger = worker_settings(kafka, state, ParserSettings), worker_settings(kafka, state, LedgerSettings)
    with running(ParserStage(parser), parser), running(LedgerStage(ledger), ledger):
        yield kafka


@pytest.fixture
def served(pipeline: KafkaSettings, monkeypatch: pytest.MonkeyPatch, command: Command) -> Command:
    """Return a function that runs a command while a parser and a ledger run."""
    set_environment(monkeypatch, pipeline)
    return command


@pytest.fixture
def alone(bound: KafkaSettings, command: Command) -> Command:
    """Return a function that runs a command while no worker runs."""
    return command


def known(kafka: KafkaSettings, paper: str) -> PaperState | None:
    """Return the newest state of a paper; None if there is none."""
    values = [each.value for each in read_all(kafka, "manifests") if each.key == paper.encode() and each.value]
    return PaperState.from_json(values[-1]) if values else None


def publish(kafka: KafkaSettings, run: Command, folder: Path, doi: str, version: int) -> str:
    """Publish a paper, wait until the ledger knows the version, and return the paper's id."""
    file, paper = folder / "paper.xml", f"doi:{doi}"
    file.write_text(XML.format(doi=doi))
    assert run("publish", str(file), "--version", str(version), "--quiet")[0] == 0

    def there() -> bool:
        state = known(kafka, paper)
        return state is not None and (state.paper_version, state.withdrawn) == (version, False)

    until(there, what=f"version {version} of {paper} does not hold")
    return paper


@pytest.mark.parametrize("version", [1, 20251122221500])
def test_a_withdrawal_supersedes_the_known_version_and_no_later_one(
    version: int, pipeline: KafkaSettings, served: Command, tmp_path: Path
):
    doi = f"10.5555/of.{version}"
    paper = publish(pipeline, served, tmp_path, doi, version)
    assert served("withdraw", paper) == (0, f"{paper}: withdrawn as version {version + 1}\n", "")
    state = known(pipeline, paper)
    assert state is not None
    assert (state.withdrawn, state.paper_version) == (True, version + 1)
    publish(pipeline, served, tmp_path, doi, version + 2)


def test_several_papers_have_the_highest_exit_code(pipeline: KafkaSettings, served: Command, tmp_path: Path):
    first, second = (publish(pipeline, served, tmp_path, f"10.5555/several.{n}", 7) for n in (1, 2))
    code, out, err = served("withdraw", first, "DOI:https://doi.org/10.5555/SEVERAL.2", "doi:10.5555/nobody", first, "--json")
    assert (code, err) == (21, "")
    assert [orjson.loads(line) for line in out.splitlines()] == [
        {"paper": first, "outcome": "withdrawn", "version": 8, "known": 8},
        {"paper": second, "outcome": "withdrawn", "version": 8, "known": 8},
        {"paper": "doi:10.5555/nobody", "outcome": "unknown", "version": None, "known": None},
    ]
    sent = len(read_all(pipeline, "papers"))
    before = "".join(f"{paper}: was withdrawn before, as version 8\n" for paper in (first, second))
    assert served("withdraw", first, second) == (0, before, "")
    assert len(read_all(pipeline, "papers")) == sent


def test_a_given_version_is_used(pipeline: KafkaSettings, served: Command, tmp_path: Path):
    paper = publish(pipeline, served, tmp_path, "10.5555/own.version", 50)
    sent = len(read_all(pipeline, "papers"))
    code, out, err = served("withdraw", paper, "--version", "49")
    assert (code, out) == (20, "")
    assert err == f"reflink-worker: {paper}: not withdrawn: version 50 is newer: use a higher --version, or omit it\n"
    assert len(read_all(pipeline, "papers")) == sent
    assert served("withdraw", paper, "--version", "50")[:2] == (0, f"{paper}: withdrawn as version 50\n")
    assert served("withdraw", paper, "--version", "90")[:2] == (0, f"{paper}: withdrawn as version 90\n")
    assert served("withdraw", paper, "--version", "90")[:2] == (0, f"{paper}: was withdrawn before, as version 90\n")


def test_an_unknown_paper_is_withdrawn_with_a_given_version(pipeline: KafkaSettings, served: Command):
    paper = "doi:10.5555/to.come"
    code, _, err = served("withdraw", paper)
    assert code == 21
    assert f"{paper}: not withdrawn: the ledger does not know the paper" in err
    assert "--version" in err
    assert served("withdraw", paper, "--version", "5")[0] == 0
    state = known(pipeline, paper)
    assert state is not None
    assert (state.withdrawn, state.paper_version) == (True, 5)


def state_of(paper: str, version: int, **fields: Any) -> tuple[bytes, bytes]:
    """Return a record of ``manifests``: its key and value."""
    state = PaperState(schema_version=1, citing=paper, paper_version=version, references=(), **fields)
    return paper.encode(), state.to_json()


PAPER = "doi:10.5555/a.paper"


def test_without_workers_the_command_reports_no_result(kafka: KafkaSettings, alone: Command):
    send(kafka, "manifests", [state_of(PAPER, 3)])
    code, out, err = alone("withdraw", PAPER, "--timeout", "0.5")
    assert (code, out) == (22, "")
    assert f"{PAPER}: sent as version 4, but the ledger did not apply it within 0.5 s" in err
    (record,) = read_all(kafka, "papers")
    assert (record.key, record.value, record.headers) == (PAPER.encode(), None, ((VERSION_HEADER, b"4"),))


def answering(kafka: KafkaSettings, *answers: tuple[bytes, bytes]) -> AbstractContextManager[None]:
    """Send these states in place of a ledger, as soon as there is a paper."""

    def answer() -> bool:
        withdrawn = bool(read_all(kafka, "papers"))
        if withdrawn:
            send(kafka, "manifests", answers)
        return withdrawn

    return meanwhile(answer)


def test_a_newer_version_that_arrives_meanwhile_is_reported(kafka: KafkaSettings, alone: Command):
    send(kafka, "manifests", [state_of(PAPER, 3)])
    with answering(kafka, state_of(PAPER, 3, kept=()), state_of("doi:10.5555/other", 99), state_of(PAPER, 7)):
        code, out, _ = alone("withdraw", PAPER, "--json")
    assert (code, orjson.loads(out)) == (20, {"paper": PAPER, "outcome": "superseded", "version": 4, "known": 7})


def test_the_newest_state_counts_and_the_largest_version_can_be_withdrawn(kafka: KafkaSettings, alone: Command):
    largest = TOO_LARGE - 1
    send(kafka, "manifests", [state_of(PAPER, 3, withdrawn=True), state_of(PAPER, largest)])
    with answering(kafka, state_of(PAPER, largest, withdrawn=True)):
        assert alone("withdraw", PAPER)[:2] == (0, f"{PAPER}: withdrawn as version {largest}\n")


@pytest.mark.parametrize(
    "arguments",
    [["10.5555/a"], [" "], [PAPER, "--version", str(TOO_LARGE)], [PAPER, "--version", "-1"], [PAPER, "--version", "1.5"]],
)
def test_invalid_arguments_send_nothing(arguments: list[str], kafka: KafkaSettings, alone: Command):
    assert alone("withdraw", *arguments)[0] == 2
    assert read_all(kafka, "papers") == []
