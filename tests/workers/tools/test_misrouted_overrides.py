"""An override outside the partition of its paper: the ledger refuses it, and the commands show and remove it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from schemas import OverrideEvent
from tests.kafka import read_all, worker_settings
from tests.workers.commands import Command
from tests.workers.echo import running, until
from tests.workers.links import PARTITIONS, link, publish
from workers.config.settings import KafkaSettings, LedgerSettings
from workers.kafka.bulk_producer import Sender
from workers.kafka.topics import partition_of
from workers.ledger.stage import LedgerStage
from workers.telemetry import metrics
from workers.tools.overrides import made

PAPER = "doi:10.5555/a.paper"
REFERENCE = f"{PAPER}#B12.1"
HOME = partition_of(PAPER.encode(), PARTITIONS)
ELSEWHERE = (HOME + 1) % PARTITIONS


def put(kafka: KafkaSettings, reference: str, event: OverrideEvent | None, partition: int) -> None:
    with Sender(kafka) as sender:
        sender.send("overrides", reference.encode(), None if event is None else event.to_json(), partition=partition)


@pytest.fixture
def override(bound: KafkaSettings, command: Command) -> Command:
    return lambda *arguments: command("override", *arguments)


NOTHING = made(REFERENCE, nothing=True, reason="read it", by="ann")


def test_the_ledger_refuses_it_and_applies_an_override_in_the_right_partition(kafka: KafkaSettings, state: Path):
    publish(kafka, link(REFERENCE, "pmid:1"))
    put(kafka, REFERENCE, NOTHING, ELSEWHERE)
    put(kafka, REFERENCE, None, (HOME + 2) % PARTITIONS)
    before = metrics.DEAD_LETTERS.labels("overrides", "BadRecord")._value.get()
    with running(LedgerStage(settings := worker_settings(kafka, state, LedgerSettings)), settings):
        until(lambda: read_all(kafka, "dead-letters"), what="it is refused")
        put(kafka, REFERENCE, NOTHING, HOME)
        until(lambda: len(read_all(kafka, "links")) == 2, what="the valid override is applied")
    (letter,) = read_all(kafka, "dead-letters")
    assert (letter.key, letter.header("reflink-partition")) == (REFERENCE.encode(), str(ELSEWHERE))
    assert f"is in partition {ELSEWHERE}" in letter.header("reflink-message")
    assert f"{PAPER!r} is in partition {HOME}" in letter.header("reflink-message")
    assert metrics.DEAD_LETTERS.labels("overrides", "BadRecord")._value.get() == before + 1


def test_the_list_shows_it_as_refused_with_the_reason(kafka: KafkaSettings, override: Command):
    put(kafka, REFERENCE, NOTHING, ELSEWHERE)
    put(kafka, f"{PAPER}#B2.1", made(f"{PAPER}#B2.1", nothing=True, reason="r", by="ann"), HOME)
    for arguments in (["list"], ["list", "--citing", PAPER]):
        code, out, err = override(*arguments)
        assert (code, err) == (0, "")
        holding, refused, count = out.splitlines()
        assert holding.startswith(f"{PAPER}#B2.1  cites nothing")
        assert refused.startswith(f"{REFERENCE}  REFUSED: ")
        assert f"is in partition {ELSEWHERE}" in refused
        assert count == "1 overrides, 1 refused"
    code, out, err = override("list", "--json")
    assert [orjson.loads(line)["reference"] for line in out.splitlines()] == [f"{PAPER}#B2.1"], "`apply` accepts these lines"
    assert f"{REFERENCE} is refused: " in err


def test_lift_removes_it_from_its_partition(kafka: KafkaSettings, override: Command):
    put(kafka, REFERENCE, NOTHING, ELSEWHERE)
    assert override("lift", REFERENCE)[:2] == (0, f"{REFERENCE}: removed a refused override from partition {ELSEWHERE}\n")
    assert override("list")[1] == "0 overrides\n"
    code, _, err = override("lift", REFERENCE)
    assert code == 2
    assert "has no override" in err


def test_lift_removes_a_valid_and_a_refused_override_together(kafka: KafkaSettings, override: Command):
    put(kafka, REFERENCE, NOTHING, ELSEWHERE)
    put(kafka, REFERENCE, NOTHING, HOME)
    code, out, _ = override("lift", REFERENCE)
    assert code == 0
    assert out.splitlines()[:2] == [
        f"{REFERENCE}: removed a refused override from partition {ELSEWHERE}",
        f"{REFERENCE}: lifted",
    ]
    assert override("list")[1] == "0 overrides\n"


def test_an_unreadable_record_is_listed_beside_the_others(kafka: KafkaSettings, override: Command):
    """The previous override of the reference stays in effect, as in the ledger."""
    put(kafka, REFERENCE, NOTHING, HOME)
    with Sender(kafka) as sender:
        sender.send("overrides", REFERENCE.encode(), b"{", partition=HOME)
        sender.send("overrides", b"\xff\n", b"{}", partition=HOME)
    code, out, _ = override("list")
    assert code == 0
    assert out.splitlines()[-1] == "1 overrides, 2 refused"
    assert f"{REFERENCE}  cites nothing" in out
    assert f"{REFERENCE}  REFUSED: OverrideEvent" in out
    assert "\\xff\\n" in out, "no control character reaches the terminal"
