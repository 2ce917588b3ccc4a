"""The follower of the topic ``absence`` knows its newest valid records, from the start of the worker on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reflink.linking.shares import Seen, Shares, Tally
from schemas.absence import SHARES_KEY, SharesEvent, SourceSeen, SourceShare, TallyEvent, tally_key
from tests.kafka import send, worker_settings
from workers.absence.follower import ALL, AbsenceFollower, show, show_fixed
from workers.config.settings import KafkaSettings, WorkerSettings
from workers.telemetry import metrics


def tally(weight: float, source: str = "10.1371") -> bytes:
    seen = (SourceSeen(source=source, weight=weight, absent=weight / 2), SourceSeen(source="", weight=1.0, absent=1.0))
    return TallyEvent(schema_version=1, seen=seen).to_json()


def shares(overall: float, **sources: float) -> bytes:
    of = tuple(SourceShare(source=f"10.{name[1:]}", absent=share) for name, share in sources.items())
    return SharesEvent(schema_version=1, overall=overall, sources=of).to_json()


def record(key: bytes | None, value: bytes | None) -> Any:
    return SimpleNamespace(key=key, value=value, offset=0)


def shown(gauge: Any) -> dict[str, float]:
    return {sample.labels["source"]: sample.value for sample in gauge.collect()[0].samples}


def test_the_newest_records_count():
    follower = AbsenceFollower(WorkerSettings())
    follower.apply(
        [
            record(tally_key(0), tally(10.0)),
            record(tally_key(0), tally(20.0)),
            record(tally_key(11), tally(5.0, "10.7554")),
            record(SHARES_KEY, shares(0.7)),
            record(SHARES_KEY, shares(0.8, s1371=0.6)),
        ]
    )
    assert follower.shares == Shares(0.8, {"10.1371": 0.6})
    assert follower.shares.of("doi:10.1371/x") == 0.6
    assert follower.merged().to_dict() == {"10.1371": [20.0, 10.0], "10.7554": [5.0, 2.5], "": [2.0, 2.0]}
    assert follower.version == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (SHARES_KEY, b"no JSON"),
        (SHARES_KEY, None),
        (SHARES_KEY, b'{"schema_version": 1, "overall": 1.0, "sources": []}'),
        (SHARES_KEY, b'{"schema_version": 99, "overall": 0.7, "sources": []}'),
        (None, shares(0.7)),
        (b"tally-x", tally(1.0)),
        (tally_key(1), b'{"schema_version": 1, "seen": [{"source": "10.1", "weight": -1.0, "absent": 0.0}]}'),
        (tally_key(1), b'{"schema_version": 1, "seen": [{"source": "' + b"1" * 99 + b'", "weight": 1.0, "absent": 0.0}]}'),
        (tally_key(1), b'{"schema_version": 1, "seen": [{"source": "10.1", "weight": NaN, "absent": 0.0}]}'),
    ],
)
def test_an_invalid_record_changes_nothing(key: bytes | None, value: bytes | None):
    follower = AbsenceFollower(WorkerSettings())
    follower.apply([record(SHARES_KEY, shares(0.6)), record(key, value)])
    assert (follower.shares, follower.tallies) == (Shares(0.6), {})


def test_metrics_have_a_series_for_each_listed_source_only():
    seen = Tally({"10.1371": Seen(300.0, 210.0), "10.7554": Seen(100.0, 10.0)})
    show(Shares(0.6, {"10.1371": 0.7}), [seen, seen])
    assert shown(metrics.ABSENT_SHARE) == {ALL: 0.6, "10.1371": 0.7}
    assert shown(metrics.ABSENT_REFERENCES) == {ALL: 800.0, "10.1371": 600.0}
    assert shown(metrics.ABSENT_ESTIMATE)[ALL] == pytest.approx(440 / 800, abs=1e-3)
    show(Shares(), [])
    assert shown(metrics.ABSENT_SHARE) == {ALL: 0.5}
    assert shown(metrics.ABSENT_REFERENCES) == {ALL: 0.0}
    show_fixed(0.3)
    assert shown(metrics.ABSENT_SHARE) == {ALL: 0.3}


def test_the_topic_is_read_to_its_end_at_the_start_and_followed(kafka: KafkaSettings, tmp_path: Path):
    settings = worker_settings(kafka, tmp_path)
    empty = AbsenceFollower(settings)
    empty.start()
    assert empty.shares == Shares()
    send(kafka, "absence", [(SHARES_KEY, shares(0.7)), (tally_key(2), tally(7.0)), (b"other", b"x")])
    later = AbsenceFollower(settings)
    later.start()
    assert (later.shares, [*later.tallies]) == (Shares(0.7), [2])
    empty._next = 0.0
    while not empty.follow():
        empty._next = 0.0
    assert empty.shares == Shares(0.7)
    for each in (empty, later):
        each.close()
