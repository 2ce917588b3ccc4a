"""A random history through real workers on a real Kafka; ``make convergence KAFKA=20`` runs more of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.campaigns.convergence.on_kafka import run_history
from tests.data import CACHE
from workers.devkit.broker import Broker
from workers.devkit.search_engine import SearchEngine


def test_a_history_with_a_killed_ledger_ends_in_the_links_of_a_fresh_run(broker: Broker, tmp_path: Path):
    found = run_history(broker.address, tmp_path, seed=1)
    assert found is None, found


def test_a_history_with_a_search_engine_and_its_faults_ends_in_the_links_of_a_fresh_run(broker: Broker, tmp_path: Path):
    counts: Counter[str] = Counter()
    with SearchEngine.start(cache=CACHE) as engine:  # its own, since it is killed and paused
        found = run_history(broker.address, tmp_path, 1, engine, counts)
    assert found is None, found
    assert counts["the index is deleted"] == 1
