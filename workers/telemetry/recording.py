"""Recording of a committed batch's observations in the metrics."""

from __future__ import annotations

import time

from workers.stage import Observed
from workers.telemetry import metrics


def observe(seen: Observed) -> None:
    """Add the observations of a committed batch to the metrics."""
    now_ms = time.time() * 1000
    for (method, reason), count in seen.outcomes.items():
        metrics.OUTCOMES.labels(method, reason).inc(count)
    for decision, count in seen.decisions.items():
        metrics.LEDGER_DECISIONS.labels(decision).inc(count)
    for name, count in seen.papers.items():
        metrics.PAPERS.labels(name).inc(count)
    for fields, count in seen.parsed.items():
        metrics.PARSED.labels(fields).inc(count)
    for method, score in seen.scores:
        metrics.SCORES.labels(method).observe(score)
    for (phrase, linked), count in seen.reasons.items():
        metrics.REASONS.labels(phrase, linked).inc(count)
    for linked, probability in seen.probabilities:
        metrics.PROBABILITIES.labels(linked).observe(probability)
    for arrived, live in seen.arrivals:
        metrics.END_TO_END_SECONDS.labels("yes" if live else "no").observe(max(0.0, (now_ms - arrived) / 1000))
    for why, count in seen.requested.items():
        metrics.JUDGED_AGAIN.labels(why).inc(count)
    for arrived in seen.woken:
        metrics.WAKE_SECONDS.observe(max(0.0, (now_ms - arrived) / 1000))
    for (topic, reason), count in seen.dead_letters.items():
        metrics.DEAD_LETTERS.labels(topic, reason).inc(count)
    for step, seconds in seen.seconds.items():
        metrics.HANDLE_SECONDS.labels(step).inc(seconds)
    if seen.tokens:
        metrics.BATCH_TOKENS.observe(seen.tokens)
