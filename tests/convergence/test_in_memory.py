"""Random histories in memory end in the links of a fresh run; ``make convergence`` has more of them."""

from __future__ import annotations

from typing import Final

import pytest

from tests.convergence import machine
from tests.convergence.running import run
from tests.convergence.tally import Tally
from workers.ledger import stage as ledger

_HISTORIES: Final = 250


@pytest.fixture(autouse=True)
def tally(monkeypatch: pytest.MonkeyPatch) -> Tally:
    """What this test alone has seen."""
    counted = Tally()
    monkeypatch.setattr(machine, "TALLY", counted)
    return counted


def test_histories_end_in_the_links_of_a_fresh_run(tally: Tally):
    run(_HISTORIES, seed=1)
    counts = tally.counts
    assert counts["differences after the sweep"] == 0
    # It says something only where links come, move and go.
    assert counts["links that appeared"] > _HISTORIES / 2
    assert counts["links that moved"] > 0
    assert counts["links taken back"] > 0
    assert counts["tombstones"] > 0
    assert counts["curated at the end"] > 0


def test_a_ledger_that_neither_wakes_nor_sweeps_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger, "wake", lambda *_: None)
    monkeypatch.setattr(ledger, "sweep", lambda *_: None)
    with pytest.raises(AssertionError, match=r"references are not as in a fresh run, after the sweep") as failed:
        run(_HISTORIES, seed=1)
    told = str(failed.value)
    assert "should be:" in told
    assert "the history:\n   1 with" in told
