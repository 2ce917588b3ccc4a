"""The forms that the expressions have in common, of series that carry ``job="reflink"``."""

from __future__ import annotations

from typing import Final

#: At least four scrapes of what is shown: Grafana's own choice.
WINDOW: Final = "$__rate_interval"
#: Of all installs that the Prometheus watches, those in the namespaces that were chosen.
INSTALL: Final = 'job="reflink", namespace=~"$namespace"'


def series(metric: str, *matchers: str) -> str:
    """A selector."""
    labels = ", ".join((INSTALL, *matchers))
    return f"{metric}{{{labels}}}"


def rate(metric: str, *matchers: str, by: str = "", over: str = WINDOW) -> str:
    """How fast counters grow, per second, added up."""
    return f"sum{_by(by)}(rate({series(metric, *matchers)}[{over}]))"


def quantile(share: float, histogram: str, *matchers: str, by: str = "", over: str = WINDOW) -> str:
    """The value that a share of the observations does not exceed, estimated from the buckets."""
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({share:g}, {rate(histogram + '_bucket', *matchers, by=labels, over=over)})"


def mean(histogram: str, *matchers: str, by: str = "", over: str = WINDOW) -> str:
    """Of the observations."""
    return (
        f"{rate(histogram + '_sum', *matchers, by=by, over=over)} / {rate(histogram + '_count', *matchers, by=by, over=over)}"
    )


def buckets(histogram: str, *matchers: str, over: str = WINDOW) -> str:
    """What Grafana's heatmap draws."""
    return f"sum by (le) (increase({series(histogram + '_bucket', *matchers)}[{over}]))"


def named(expression: str, label: str, empty: str) -> str:
    """The same, with a word where the label is empty."""
    return f'label_replace({expression}, "{label}", "{empty}", "{label}", "^$")'


def _by(labels: str) -> str:
    return f" by ({labels}) " if labels else ""
