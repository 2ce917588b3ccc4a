"""PromQL forms shared by the expressions, over series with ``job="reflink"``."""

from __future__ import annotations

from typing import Final

#: Grafana's rate interval: at least four scrapes.
WINDOW: Final = "$__rate_interval"
#: Selects the installations in the chosen namespaces, among all that the Prometheus server watches.
INSTALL: Final = 'job="reflink", namespace=~"$namespace"'


def series(metric: str, *matchers: str) -> str:
    """Return a series selector."""
    labels = ", ".join((INSTALL, *matchers))
    return f"{metric}{{{labels}}}"


def rate(metric: str, *matchers: str, by: str = "", over: str = WINDOW) -> str:
    """Return the sum of the counters' rates per second."""
    return f"sum{_by(by)}(rate({series(metric, *matchers)}[{over}]))"


def quantile(share: float, histogram: str, *matchers: str, by: str = "", over: str = WINDOW) -> str:
    """Return the quantile ``share`` of the observations, estimated from the buckets."""
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({share:g}, {rate(histogram + '_bucket', *matchers, by=labels, over=over)})"


def mean(histogram: str, *matchers: str, by: str = "", over: str = WINDOW) -> str:
    """Return the mean of the observations."""
    return (
        f"{rate(histogram + '_sum', *matchers, by=by, over=over)} / {rate(histogram + '_count', *matchers, by=by, over=over)}"
    )


def buckets(histogram: str, *matchers: str, over: str = WINDOW) -> str:
    """Return the increase per bucket, as Grafana's heatmap expects it."""
    return f"sum by (le) (increase({series(histogram + '_bucket', *matchers)}[{over}]))"


def named(expression: str, label: str, empty: str) -> str:
    """Return the expression with the text ``empty`` where the label is empty."""
    return f'label_replace({expression}, "{label}", "{empty}", "{label}", "^$")'


def _by(labels: str) -> str:
    return f" by ({labels}) " if labels else ""
