"""A random history through real workers on a real Kafka; ``make convergence KAFKA=20`` runs more of them."""

from __future__ import annotations

from pathlib import Path

from tests.campaigns.convergence.on_kafka import run_history
from workers.devkit.broker import Broker


def test_a_history_with_a_killed_ledger_ends_in_the_links_of_a_fresh_run(broker: Broker, tmp_path: Path):
    found = run_history(broker.address, tmp_path, seed=1)
    assert found is None, found
