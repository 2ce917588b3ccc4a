"""Ledgers without Kafka, closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.ledger.ledgered import Ledger

NewLedger = Callable[..., Ledger]


@pytest.fixture
def new_ledger(tmp_path: Path) -> Iterator[NewLedger]:
    """Return a function from settings to a ledger. Without other settings, there is no sweep."""
    opened: list[Ledger] = []

    def new(**settings: Any) -> Ledger:
        opened.append(Ledger(tmp_path, **{"sweep_per_s": 0, **settings}))
        return opened[-1]

    yield new
    for ledger in opened:
        ledger.stage.close()


@pytest.fixture
def ledger(new_ledger: NewLedger) -> Ledger:
    return new_ledger()
