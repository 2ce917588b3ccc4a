"""Random histories in memory end in the links of a fresh run; ``make convergence`` runs more of them."""

from __future__ import annotations

from typing import Final

import pytest

from tests.campaigns.convergence.machine import Histories
from tests.campaigns.convergence.running import run
from tests.campaigns.convergence.tally import Tally
from workers.ledger import stage as ledger

_HISTORIES: Final = 250


@pytest.fixture(autouse=True)
def tally(monkeypatch: pytest.MonkeyPatch) -> Tally:
    """A tally of this test alone."""
    counted = Tally()
    monkeypatch.setattr(Histories, "tally", counted)
    return counted


def test_histories_end_in_the_links_of_a_fresh_run(tally: Tally):
    run(_HISTORIES, seed=1)
    counts = tally.counts
    assert counts["differences after the sweep"] == 0
    # The test is meaningful only if links appear, move and disappear.
    assert counts["links that appeared"] > _HISTORIES / 2
    assert counts["links that moved"] > 0
    assert counts["links taken back"] > 0
    assert counts["tombstones"] > 0
    assert counts["curated at the end"] > 0


def test_a_ledger_without_propagation_and_sweep_is_detected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger, "propagate", lambda *_: None)
    monkeypatch.setattr(ledger, "sweep", lambda *_: None)
    with pytest.raises(AssertionError, match=r"references differ from a fresh run") as failed:
        run(_HISTORIES, seed=1)
    message = str(failed.value)
    assert "expected:" in message
    assert "the history:\n   1 with" in message
