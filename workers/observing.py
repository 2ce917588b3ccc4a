"""From what a batch saw to the metrics, once it is committed."""

from __future__ import annotations

import time

from workers import metrics
from workers.stage import Observed


def observe(seen: Observed) -> None:
    """Shows a committed batch to the metrics."""
    now_ms = time.time() * 1000
    for (method, reason), count in seen.outcomes.items():
        metrics.OUTCOMES.labels(method, reason).inc(count)
    for decision, count in seen.decisions.items():
        metrics.LEDGER_DECISIONS.labels(decision).inc(count)
    for method, score in seen.scores:
        metrics.SCORES.labels(method).observe(score)
    for (phrase, linked), count in seen.reasons.items():
        metrics.REASONS.labels(phrase, linked).inc(count)
    for linked, probability in seen.probabilities:
        metrics.PROBABILITIES.labels(linked).observe(probability)
    for arrived, live in seen.arrivals:
        metrics.END_TO_END_SECONDS.labels("yes" if live else "no").observe(max(0.0, (now_ms - arrived) / 1000))
    for why, count in seen.asked.items():
        metrics.JUDGED_AGAIN.labels(why).inc(count)
    for arrived in seen.woken:
        metrics.WAKE_SECONDS.observe(max(0.0, (now_ms - arrived) / 1000))
    for step, seconds in seen.seconds.items():
        metrics.HANDLE_SECONDS.labels(step).inc(seconds)
    if seen.tokens:
        metrics.BATCH_TOKENS.observe(seen.tokens)
