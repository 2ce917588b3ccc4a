"""The report's tables. Each function takes the figures that it shows and returns None if they were not measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reflink.evaluation.adjudication import VERDICTS
from reflink.evaluation.causes import CAUSES
from reflink.evaluation.report.markup import Markup, joined, tag
from reflink.evaluation.report.plots import percent

Figures = Mapping[str, Any]

_RATES: Final = ("error", "precision", "recall", "f1", "false_link")
_WORLDS: Final = {
    "closed": "closed",
    "open": "open",
    "open_80": "open, 80% there",
    "open_20": "open, 20% there",
    "raw_only.closed": "closed, fields hidden",
    "raw_only.open": "open, fields hidden",
    "pubmed": "PubMed's lists",
    "pubmed_known": "PubMed's lists, known share",
    "mixture": "articles and PubMed's lists",
}
_CONTENTS: Final = {"title": "with a title", "names": "with names, no title", "neither": "neither"}  # fmt: skip
_FIELDS: Final = {"T": "title", "V": "venue", "Y": "year", "L": "last names", "A": "abstract"}


def worlds(measured: Figures) -> Iterator[tuple[str, str, Figures]]:
    """Yield name, description and figures of each world that was measured."""
    for name, label in _WORLDS.items():
        figures: Any = measured
        for part in name.split("."):
            figures = figures.get(part, {})
        if figures:
            yield name, label, figures


def kinds(figures: Figures) -> dict[str, Figures]:
    """Return the figures of a world and of subsets of its queries, by label."""
    sound = figures.get("without_suspects")
    kinds = figures.get("kinds", {})
    contents = {_CONTENTS[name]: of for name, of in figures.get("contents", {}).items()}
    return {"all": figures, **({"all but suspects": sound} if sound else {}), **(kinds if len(kinds) > 1 else {}), **contents}


def table(head: Sequence[str], body: Iterable[Sequence[object]], words: int = 1) -> Markup:
    """Return a table whose first ``words`` columns are words, the others numbers. It scrolls if it is wider than the page."""
    shown = tag("tr", [tag("th", name, class_="n" if at >= words else None) for at, name in enumerate(head)])
    lines = [tag("tr", [tag("td", cell, class_="n" if at >= words else None) for at, cell in enumerate(row)]) for row in body]
    return tag("div", tag("table", tag("thead", shown), tag("tbody", lines)), class_="wide")


def rate(figures: Figures, name: str) -> Markup | str:
    """Return a share in percent with its interval; "" if it was not measured."""
    if figures.get(name) is None:
        return ""
    label = f"{100 * figures[name]:.2f}%"
    if not (bounds := figures.get(f"{name}_interval")):
        return label
    return tag("span", label, " ", tag("small", f"[{100 * bounds[0]:.2f}, {100 * bounds[1]:.2f}]"), class_="rate")


def overview(measured: Figures) -> Markup:
    """Figures of every world and every kind of query: closed worlds, then open worlds."""
    bodies: dict[bool, list[list[object]]] = {True: [], False: []}
    for _, label, figures in worlds(measured):
        closed = "error" in figures
        for kind, of in kinds(figures).items():
            name: object = tag("b", label) if kind == "all" else ""
            shown = [rate(of, each) for each in (_RATES[:1] if closed else _RATES[1:])]
            calibrated = [] if closed else [f"{100 * of['ece']:.2f}%" if of.get("ece") is not None else ""]
            bodies[closed].append([name, kind, f"{of['queries']:,}", *shown, *calibrated])
    heads = {True: ("error",), False: ("precision", "recall", "F1", "false links", "ECE")}
    return joined(table(["world", "queries", "n", *heads[closed]], body, 2) for closed, body in bodies.items() if body)


def read(measured: Figures) -> Markup | None:
    """Errors by the verdict of a person who read them; None if none was read."""
    body = [
        [label, *(f"{of[name]:,}" for name in (*VERDICTS, "unread")), _own(of), f"{100 * of['own_at_most']:.3f}%"]
        for _, label, figures in worlds(measured)
        if (of := figures.get("read")) and sum(of[name] for name in VERDICTS)
    ]
    heads = ["world", "label wrong", "linker wrong", "other version", "cannot tell", "not read", "linker's own", "at most"]
    return table(heads, body) if body else None


def verdicts() -> Markup:
    """Description of each verdict."""
    return tag("dl", [(tag("dt", verdict), tag("dd", label)) for verdict, label in VERDICTS.items()])


def _own(of: Figures) -> Markup:
    low, high = of["own_interval"]
    return tag("span", f"{100 * of['own']:.3f}% ", tag("small", f"[{100 * low:.3f}, {100 * high:.3f}]"), class_="rate")


def approaches(tables: Figures) -> Markup | None:
    """Table 2 of the paper, with times."""
    body = [
        [
            row["approach"], row["mode"], rate(row, "error") or row.get("why", ""), _percent(row.get("published")),
            _count(row.get("without_fields")),
            _percent(row.get("error_with_fields")), _seconds(row.get("seconds")), _seconds(row.get("seconds_in_batches")),
            _seconds(row.get("published_seconds")),
        ]
        for row in tables.get("approaches", ())
    ]  # fmt: skip
    head = [
        "approach", "mode", "error here", "the paper's", "no such fields", "error of the rest", "one at a time", "in batches",
        "the paper's time",
    ]  # fmt: skip
    return table(head, body, 2) if body else None


def fields(tables: Figures) -> Markup | None:
    """Table 1 of the paper."""
    given = tables.get("fields") or {}
    sides = [given.get(side, {}) for side in ("candidates", "references")]
    body = [
        [f"{label} ({name})", *(_percent(side.get(name, {}).get(of)) for side in sides for of in ("share", "published"))]
        for name, label in _FIELDS.items()
        if any(name in side for side in sides)
    ]
    return table(["field", "works here", "the paper's", "references here", "the paper's"], body) if body else None


def limits(tables: Figures) -> Markup | None:
    """Table 4 of the paper."""
    given = tables.get("limits") or {}
    body = [
        [f"{_FIELDS.get(name, name)} ({name})", _count(of.get("characters")) or "none has it", _count(of.get("published"))]
        for name, of in given.items()
    ]
    return table(["field", "95% have at most, here", "the paper's limit"], body) if body else None


def thresholds(figures: Figures) -> Markup | None:
    """The sweep of the verdict's threshold."""
    given = figures.get("thresholds") or ()
    body = [[f"{row['accept']:g}", *(f"{100 * row[name]:.2f}%" for name in _RATES[1:])] for row in given]
    return table(["link from", "precision", "recall", "F1", "false links"], body) if body else None


def bins(figures: Figures) -> Markup | None:
    """The reliability table."""
    given = (figures.get("calibration") or {}).get("bins") or ()
    body = [
        (
            f"{row['low']:.6f} to {row['high']:.6f}",
            f"{row['queries']:,}",
            f"{100 * row['probability']:.3f}%",
            rate(row, "right"),
        )
        for row in given
    ]
    return table(["probability", "candidates", "stated, mean", "right"], body) if body else None


def causes() -> Markup:
    """Description of each cause."""
    return tag("dl", [(tag("dt", cause), tag("dd", label)) for cause, label in CAUSES.items()])


def _percent(value: float | None) -> str:
    return "" if value is None else percent(round(value, 4))


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"
