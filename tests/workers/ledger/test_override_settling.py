"""References that are due for a re-evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reflink.entities import Work
from tests.workers.ledger.ledgered import CITING, Ledger, manifest, outcomes
from workers.ledger.override_settling import request_due


@pytest.mark.parametrize(("requested", "due", "expected"), [(0, 0, 1), (1, 0, 0), (1, 1, 1), (2, 1, 0)])
def test_a_due_reference_is_requested_unless_a_later_request_is_in_flight(
    tmp_path: Path, requested: int, due: int, expected: int
) -> None:
    ledger = Ledger(tmp_path, sweep_per_s=0)
    ledger.take(manifest(1, "a"), outcomes(1, 0, {"a": None}))
    ledger.change(*(Work.from_dict({"id": f"doi:10.1/{number}", "title": f"Work {number}"}) for number in range(3)))
    ledger.store.write([("due", f"{CITING}#a", b"%d" % due)], {})
    row = b"[%d,1,[]]" % requested
    output = request_due(0, replace(ledger.stage.view([]), requested={(0, f"{CITING}#a"): row} if requested else {}), 10)
    assert output is not None
    assert sum(message.topic == "retries" for message in output.messages) == expected
    assert output.writes[0, "due", f"{CITING}#a"] is None
    ledger.stage.close()
