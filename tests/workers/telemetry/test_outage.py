"""An outage: growing delays, one log line a minute, and the seconds as a metric."""

from __future__ import annotations

import logging

import pytest

from workers.errors import ServiceUnavailable
from workers.telemetry import metrics
from workers.telemetry.outage import Outage


def test_delays_grow_up_to_a_limit_and_start_again_after_the_outage(caplog: pytest.LogCaptureFixture):
    now = 100.0
    outage = Outage(lambda: now)
    outage.over()
    delays = []
    with caplog.at_level(logging.WARNING):
        for _ in range(30):
            delays.append(outage.failed(ServiceUnavailable("no node answers")))
            assert outage.active
            now += 5.0
        assert metrics.SERVICE_UNAVAILABLE_SECONDS._value.get() == 145.0
        outage.over()
    assert delays[:3] == [0.1, 0.2, 0.4]
    assert delays[-1] == max(delays) == 5.0
    assert not outage.active
    assert metrics.SERVICE_UNAVAILABLE_SECONDS._value.get() == 0
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR", "ERROR", "WARNING"]
    assert outage.failed(ServiceUnavailable("again")) == 0.1
    outage.given_up()
    assert not outage.active
    assert metrics.SERVICE_UNAVAILABLE_SECONDS._value.get() == 0
