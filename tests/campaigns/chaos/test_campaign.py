"""Twenty kills by phase, every other fault once, some freezes and kicks: readers of committed records see no difference."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.campaigns.chaos.absences import SESSION_S, draw_absences
from tests.campaigns.chaos.campaign import campaign
from tests.campaigns.chaos.orders import PHASES, Order
from tests.campaigns.chaos.plan import LEAST, OF_ENGINE, OTHERS, draw, reached, with_engine
from tests.campaigns.chaos.verdict import Verdict
from tests.workers.corpus import catalog_works, make_snapshot
from workers.config.settings import FallbackSettings, LedgerSettings, LinkerSettings, ParserSettings
from workers.devkit.processes import WORKERS

KILLS, FREEZES, SEED = 20, 4, 1


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    works = catalog_works()
    snapshot = make_snapshot(works, tmp_path_factory.mktemp("catalog") / "snapshot")
    return campaign(KILLS, FREEZES, 1, SEED, works, snapshot, print)


@pytest.mark.timeout(3600)
def test_nothing_is_lost_doubled_or_changed(verdicts: list[Verdict]):
    assert [problem for verdict in verdicts for problem in verdict.problems] == []
    assert all(verdict.counts["linked"] and verdict.counts["dead letters"] for verdict in verdicts)


@pytest.mark.timeout(3600)
def test_all_faults_took_effect(verdicts: list[Verdict]):
    assert [missed for verdict in verdicts for missed in verdict.missed] == []
    kills = sum((verdict.kills for verdict in verdicts), Counter())
    assert kills.total() == KILLS
    assert all(kills[phase] >= LEAST for phase in PHASES)
    others = sum((verdict.others for verdict in verdicts), Counter())
    assert all(others[kind] for kind in OTHERS)
    absences = draw_absences(FREEZES, SEED)
    assert all(others[f"{absence.kind}, {absence.phase}"] for absence in absences)


@pytest.mark.timeout(3600)
def test_a_search_engine_with_faults_changes_nothing(tmp_path: Path):
    works = catalog_works()
    verdicts = campaign(4, 0, 1, SEED, works, make_snapshot(works, tmp_path / "snapshot"), print, nodes=1)
    assert [problem for verdict in verdicts for problem in (*verdict.problems, *verdict.missed)] == []
    for verdict in verdicts:
        assert all(verdict.others[kind] for kind in OF_ENGINE)
        assert verdict.counts["linked"]


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_seed_draws_the_faults_of_the_engine_among_the_others(rounds: int):
    faults = draw(20, 7)
    mixed = with_engine(faults, rounds, 7)
    assert mixed == with_engine(faults, rounds, 7)
    assert mixed != with_engine(faults, rounds, 8)
    assert [fault for fault in mixed if fault.kind not in OF_ENGINE] == faults
    assert Counter(fault.kind for fault in mixed if fault.kind in OF_ENGINE) == dict.fromkeys(OF_ENGINE, rounds)
    assert len({fault.number for fault in mixed}) == len(mixed)


@pytest.mark.parametrize("kills", [18, 20, 200])
def test_a_seed_draws_the_same_faults_and_every_kind_of_them(kills: int):
    faults = draw(kills, 7)
    assert faults == draw(kills, 7) != draw(kills, 8)
    assert [fault.number for fault in faults] == list(range(1, len(faults) + 1))
    phases = [fault.phase for fault in faults if fault.kind == "kill"]
    assert len(phases) == kills
    assert all(phases.count(phase) >= LEAST for phase in PHASES)
    assert {fault.kind for fault in faults} == {"kill", *OTHERS}


@pytest.mark.parametrize("freezes", [4, 100])
def test_a_seed_draws_the_same_absences_of_every_group_in_every_phase(freezes: int):
    absences = draw_absences(freezes, 7)
    assert absences == draw_absences(freezes, 7)
    assert absences != draw_absences(freezes, 8)
    kinds = Counter(absence.kind for absence in absences)
    assert kinds == {"freeze": freezes, "kick": freezes // 2}
    assert {absence.worker for absence in absences} == set(WORKERS)
    phases = {absence.phase for absence in absences if absence.kind == "freeze"}
    assert phases == {"handling", "transaction open", "committing", "joining"}
    assert {"transaction open", "joining"} <= {absence.phase for absence in absences if absence.kind == "kick"}
    assert all(absence.seconds > SESSION_S for absence in absences if absence.kind == "freeze")


def test_only_workers_with_a_snapshot_are_killed_while_they_load_one():
    every = {"parser": ParserSettings, "linker": LinkerSettings, "fallback": FallbackSettings, "ledger": LedgerSettings}
    load = {worker for worker, settings in every.items() if "catalog_snapshot" in settings.model_fields}
    assert set(reached("loading a snapshot")) == load


def test_an_order_is_carried_out_once(tmp_path: Path):
    order = Order(3, "handling", signal=0)  # a signal that does nothing
    assert Order.read(tmp_path) is None
    order.give(tmp_path)
    assert Order.read(tmp_path) == order
    assert not order.done(tmp_path)
    order.carry_out(tmp_path, "member-1", (("papers", 2),))
    assert order.done(tmp_path)
    assert Order.victim(tmp_path) == ("member-1", [("papers", 2)])
    assert Order.read(tmp_path) is None
    Order.withdraw(tmp_path)
    Order.withdraw(tmp_path)
