"""The dashboard of link quality: probabilities, scores and reasons, and whether they change over time."""

from __future__ import annotations

from typing import Final

from helm.dashboards.board import Row, board
from helm.dashboards.panels import BLUE, Panel, Query, bars, curves, figure, spread
from helm.dashboards.promql import buckets, quantile, rate, series

_OUTCOMES: Final = "reflink_outcomes_total"
_LINKED: Final = 'reason=""'
_ALL_SOURCES: Final = 'source="all"'
_LINKERS: Final = 'worker="linker"'
#: Shares over a shorter window have too few references and are mostly chance.
_HOUR: Final = "1h"


def quality() -> str:
    """Return the dashboard as JSON."""
    rows = [
        Row("Now", _now(), [4]),
        Row("Shares", _shares(), [2, 2]),
        Row("Scores and probabilities", _spreads(), [3, 2]),
        Row("Why", _why(), [2]),
    ]
    about = "Scores, probabilities and reasons: whether the links are as good as they were."
    return board("quality", "reflink / quality", about, rows)


def _linked(offset: str = "") -> str:
    at = f" offset {offset}" if offset else ""
    linked, all_ = series(_OUTCOMES, _LINKED), series(_OUTCOMES)
    return f"sum(rate({linked}[{_HOUR}]{at})) / sum(rate({all_}[{_HOUR}]{at}))"


def _sure(linked: str, minimum: str) -> str:
    """Return the share of outcomes with a probability above ``minimum``, which must be a bound of the buckets."""
    which = f'linked="{linked}"'
    below = rate("reflink_probability_bucket", which, f'le="{minimum}"', over=_HOUR)
    return f"1 - {below} / {rate('reflink_probability_count', which, over=_HOUR)}"


def _now() -> list[Panel]:
    return [
        figure(
            "Linked",
            "Share of linked references in the last hour. Good: the usual share of your collection. A drop: see Not linked by "
            "reason, then the catalog dashboard, then the newest feed.",
            "percentunit",
            Query(_linked()),
            [(None, BLUE)],
        ),
        figure(
            "Against the day before",
            "Share of linked references, less the share in the same hour of the day before. Good: within 5 points. Beyond: a "
            "feed, the catalog or the model changed, or many references are re-evaluated (see continuous). No data on the "
            "first day.",
            "percentunit",
            Query(f"({_linked()}) - ({_linked('1d')})"),
            [(None, "orange"), (-0.05, BLUE), (0.05, "orange")],
        ),
        figure(
            "Links nearly certain",
            "Share of links of the last hour with a probability above 0.99. Good: above 90%. Falling: references have less "
            "information, or works are incomplete; check a sample with reflink evaluate.",
            "percentunit",
            Query(_sure("yes", "0.99")),
            [(None, "orange"), (0.9, BLUE)],
        ),
        figure(
            "Doubtful refusals",
            "Share of references without a link whose best candidate had a probability above 0.1. Good: a few percent. Rising: "
            "true links are missed; see Reasons against links.",
            "percentunit",
            Query(_sure("no", "0.1")),
            [(None, BLUE), (0.1, "orange")],
        ),
    ]


def _shares() -> list[Panel]:
    return [
        curves(
            "Linked, and the day before",
            "Share of linked references over an hour, now and one day earlier. Good: the curves coincide. Apart for hours: "
            "something changed between the two days. The second curve has no data on the first day.",
            "percentunit",
            [Query(_linked(), "now"), Query(_linked("1d"), "the day before")],
            most=1,
        ),
        curves(
            "Not linked, by reason",
            "Shares of the reasons among references without a link. Good: mostly not-in-catalog: the catalog lacks the work. "
            "other-version growing: the catalog has errata, letters or other editions of the cited works. "
            "ambiguous growing: references that fit several works. "
            "no-candidate growing: the texts are unreadable.",
            "suffix: /s",
            [Query(rate(_OUTCOMES, 'method=""', by="reason", over="5m"), "{{reason}}")],
            stacked="percent",
        ),
        curves(
            "Links by method",
            "Shares of the methods among links. Good: constant. Identifier falling: a feed no longer contains DOIs or PMIDs. "
            "Semantic and lexical then rise, at more cost and with less certainty.",
            "suffix: /s",
            [Query(rate(_OUTCOMES, _LINKED, by="method", over="5m"), "{{method}}")],
            stacked="percent",
        ),
        curves(
            "Absent works",
            "Share of references whose work is not in the catalog: in use, by source of the citing papers, and the estimate "
            "for all. Good: a few steps in a week; in use is one half, or follows the estimate with REFLINK_ABSENT=auto. A "
            "source near 97% while others are lower: its works are not in the catalog, or its references are unreadable.",
            "percentunit",
            [
                Query(f"max by (source) ({series('reflink_absent_share', _LINKERS)})", "{{source}}"),
                Query(f"max({series('reflink_absent_share_estimate', _ALL_SOURCES)})", "estimate for all"),
            ],
            most=1,
        ),
    ]


def _spreads() -> list[Panel]:
    return [
        spread(
            "Probability of links",
            "Distribution of the verdict's probability of links. Good: nearly all in the top rows. A sinking band: links "
            "became doubtful.",
            "short",
            buckets("reflink_probability", 'linked="yes"'),
        ),
        spread(
            "Probability of the best candidate refused",
            "Distribution for references without a link. Good: nearly all in the bottom rows. A band in the middle: near "
            "misses, because works or references are incomplete.",
            "short",
            buckets("reflink_probability", 'linked="no"'),
        ),
        curves(
            "Median score by method",
            "Median score of the links of each method. Good: constant; identifier and place are 1. A method that sinks: its "
            "texts or its works changed. All methods at once after an upgrade: the model changed.",
            "short",
            [Query(quantile(0.5, "reflink_score", by="method", over="5m"), "{{method}}")],
            most=1,
        ),
        spread(
            "Score of semantic links",
            "Cosine of reference and work. Good: the same band every day. Sinking: the texts changed, or the model differs "
            "from the model of the catalog.",
            "short",
            buckets("reflink_score", 'method="semantic"'),
        ),
        spread(
            "Score of lexical links",
            "Trigram score of reference and work. Good: the same band every day. Sinking: the texts became worse, such as "
            "scans.",
            "short",
            buckets("reflink_score", 'method="lexical"'),
        ),
    ]


def _why() -> list[Panel]:
    def given(linked: str) -> str:
        which = f'linked="{linked}"'
        return f"topk(12, {rate('reflink_reasons_total', which, by='reason', over=_HOUR)})"

    return [
        bars(
            "Reasons for links",
            "The twelve most frequent reasons of links, per second over an hour. Good: title, authors and page match, or an "
            "identifier. A frequent reason with differs: links against the evidence; inspect some.",
            "suffix: /s",
            Query(given("yes"), "{{reason}}"),
        ),
        bars(
            "Reasons against links",
            "The twelve most frequent reasons against the best candidate of references without a link. Good: title differs, no "
            "author in common: another work. Year or page alone frequent: the fields of a feed are shifted.",
            "suffix: /s",
            Query(given("no"), "{{reason}}"),
        ),
    ]
