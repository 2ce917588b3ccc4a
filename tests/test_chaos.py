"""Twenty kills by phase, and every other fault once: a reader of committed records sees what it sees of an undisturbed run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.campaign import Verdict, campaign
from tests.chaos.orders import PHASES, Order
from tests.chaos.plan import LEAST, OTHERS, draw, reached
from tests.workers.corpus import catalog_works, make_snapshot
from workers.settings import FallbackSettings, LedgerSettings, LinkerSettings, ParserSettings

KILLS, SEED = 20, 1


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    works = catalog_works()
    snapshot = make_snapshot(works, tmp_path_factory.mktemp("catalog") / "snapshot")
    return campaign(KILLS, SEED, works, snapshot, print)


@pytest.mark.timeout(1500)
def test_nothing_is_lost_doubled_or_changed(verdicts: list[Verdict]):
    assert [problem for verdict in verdicts for problem in verdict.problems] == []
    assert all(verdict.counts["linked"] and verdict.counts["dead letters"] for verdict in verdicts)


@pytest.mark.timeout(1500)
def test_the_faults_were_done(verdicts: list[Verdict]):
    assert [missed for verdict in verdicts for missed in verdict.missed] == []
    kills = verdicts[0].kills + verdicts[1].kills
    assert kills.total() == KILLS
    assert all(kills[phase] >= LEAST for phase in PHASES)
    assert all((verdicts[0].others + verdicts[1].others)[kind] for kind in OTHERS)


@pytest.mark.parametrize("kills", [18, 20, 200])
def test_a_seed_draws_the_same_faults_and_every_kind_of_them(kills: int):
    faults = draw(kills, 7)
    assert faults == draw(kills, 7) != draw(kills, 8)
    assert [fault.number for fault in faults] == list(range(1, len(faults) + 1))
    phases = [fault.phase for fault in faults if fault.kind == "kill"]
    assert len(phases) == kills
    assert all(phases.count(phase) >= LEAST for phase in PHASES)
    assert {fault.kind for fault in faults} == {"kill", *OTHERS}


def test_workers_that_load_no_snapshot_are_not_waited_for_to_load_one():
    every = {"parser": ParserSettings, "linker": LinkerSettings, "fallback": FallbackSettings, "ledger": LedgerSettings}
    load = {worker for worker, settings in every.items() if "catalog_snapshot" in settings.model_fields}
    assert set(reached("loading a snapshot")) == load


def test_an_order_is_carried_out_once(tmp_path: Path):
    order = Order(3, "handling", signal=0)  # a signal that does nothing
    assert Order.read(tmp_path) is None
    order.give(tmp_path)
    assert Order.read(tmp_path) == order
    assert not order.done(tmp_path)
    order.carry_out(tmp_path)
    assert order.done(tmp_path)
    assert Order.read(tmp_path) is None
    Order.withdraw(tmp_path)
    Order.withdraw(tmp_path)
