"""How sure the linker is, of what, and whether today looks like yesterday."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Row, board
from helm.dashboards.panels import BLUE, Panel, Query, bars, curves, figure, spread
from helm.dashboards.promql import buckets, quantile, rate, series

_OUTCOMES: Final = "reflink_outcomes_total"
_LINKED: Final = 'reason=""'
#: Shares of fewer references than an hour brings are mostly chance.
_HOUR: Final = "1h"


def quality() -> str:
    """Its JSON."""
    rows = [Row("Now", _now()), Row("Shares", _shares()), Row("Scores and probabilities", _spreads()), Row("Why", _why())]
    about = "Scores, probabilities and reasons: whether the links are as good as they were."
    return board("quality", "reflink / quality", about, rows)


def _linked(offset: str = "") -> str:
    at = f" offset {offset}" if offset else ""
    linked, all_ = series(_OUTCOMES, _LINKED), series(_OUTCOMES)
    return f"sum(rate({linked}[{_HOUR}]{at})) / sum(rate({all_}[{_HOUR}]{at}))"


def _sure(linked: str, least: str) -> str:
    """Share of outcomes with a probability above a bound of the buckets."""
    which = f'linked="{linked}"'
    below = rate("reflink_probability_bucket", which, f'le="{least}"', over=_HOUR)
    return f"1 - {below} / {rate('reflink_probability_count', which, over=_HOUR)}"


def _now() -> list[Panel]:
    return [
        figure(
            "Linked",
            "Share of references that were linked in the last hour. Good: what your collection always has. A drop: see Not "
            "linked by reason, then the catalog dashboard, then the newest feed.",
            "percentunit",
            Query(_linked()),
            [(None, BLUE)],
            span=6,
        ),
        figure(
            "Against the day before",
            "Linked now, less linked in the same hour yesterday. Good: within 5 points either way. Beyond: a feed, the catalog "
            "or the model changed since, or much is judged again (see continuous). No data for the first day.",
            "percentunit",
            Query(f"({_linked()}) - ({_linked('1d')})"),
            [(None, "orange"), (-0.05, BLUE), (0.05, "orange")],
            span=6,
        ),
        figure(
            "Links nearly certain",
            "Share of links of the last hour with a probability above 0.99. Good: above 90%. Falling: references became poorer "
            "or works incomplete; take a sample with reflink evaluate.",
            "percentunit",
            Query(_sure("yes", "0.99")),
            [(None, "orange"), (0.9, BLUE)],
            span=6,
        ),
        figure(
            "Doubtful refusals",
            "Share of references without a link whose best candidate had a probability above 0.1. Good: a few of 100. Rising: "
            "true links are being missed; look at the reasons against a link below.",
            "percentunit",
            Query(_sure("no", "0.1")),
            [(None, BLUE), (0.1, "orange")],
            span=6,
        ),
    ]


def _shares() -> list[Panel]:
    return [
        curves(
            "Linked, and the day before",
            "Share of references linked, over an hour, now and one day earlier. Good: two curves that lie on each other. Apart "
            "for hours: something changed between the two days. The second is empty for the first day.",
            "percentunit",
            [Query(_linked(), "now"), Query(_linked("1d"), "the day before")],
            most=1,
        ),
        curves(
            "Not linked, by reason",
            "Shares among references without a link. Good: mostly not-in-catalog, the work is not there. ambiguous growing: "
            "works stand in the catalog twice. no-candidate growing: the text cannot be read.",
            "suffix: /s",
            [Query(rate(_OUTCOMES, 'method=""', by="reason", over="5m"), "{{reason}}")],
            stacked="percent",
        ),
        curves(
            "Links by method",
            "Shares among links. Good: steady. Identifier falling: a feed no longer brings DOIs or PMIDs. Semantic and lexical "
            "rising with it: they stand in, at more cost and a little less certainty.",
            "suffix: /s",
            [Query(rate(_OUTCOMES, _LINKED, by="method", over="5m"), "{{method}}")],
            stacked="percent",
        ),
    ]


def _spreads() -> list[Panel]:
    return [
        spread(
            "Probability of links",
            "The verdict's probability of what was linked, over its buckets. Good: nearly all in the top rows. A band that "
            "sinks: links became doubtful.",
            "short",
            buckets("reflink_probability", 'linked="yes"'),
        ),
        spread(
            "Probability of the best candidate refused",
            "For references without a link. Good: nearly all in the bottom rows. A band in the middle: near misses; works are "
            "incomplete, or references are.",
            "short",
            buckets("reflink_probability", 'linked="no"'),
        ),
        curves(
            "Median score by method",
            "Of the links of each method. Good: flat; identifier and place are 1. A method that sinks: its texts or its works "
            "changed. All that move at once after an upgrade: the model did.",
            "short",
            [Query(quantile(0.5, "reflink_score", by="method", over="5m"), "{{method}}")],
            most=1,
        ),
        spread(
            "Score of semantic links",
            "The cosine of reference and work. Good: the same band every day. Sinking: other texts, or another model than the "
            "catalog's.",
            "short",
            buckets("reflink_score", 'method="semantic"'),
            span=12,
        ),
        spread(
            "Score of lexical links",
            "The trigram score of reference and work. Good: the same band every day. Sinking: the texts became poorer, such as "
            "scans.",
            "short",
            buckets("reflink_score", 'method="lexical"'),
            span=12,
        ),
    ]


def _why() -> list[Panel]:
    def given(linked: str) -> str:
        which = f'linked="{linked}"'
        return f"topk(12, {rate('reflink_reasons_total', which, by='reason', over=_HOUR)})"

    return [
        bars(
            "Reasons for links",
            "What speaks in links, per second over an hour, the twelve most frequent. Good: title, authors and page match, or "
            "an identifier. A reason with differs far up: links against the evidence; look at some.",
            "suffix: /s",
            Query(given("yes"), "{{reason}}"),
            span=12,
        ),
        bars(
            "Reasons against links",
            "What spoke against the best candidate of references without a link, likewise. Good: title differs, no author in "
            "common: another work. Year or page alone far up: the feed's fields are shifted.",
            "suffix: /s",
            Query(given("no"), "{{reason}}"),
            span=12,
        ),
    ]
