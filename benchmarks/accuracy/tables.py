"""The tables of docs/accuracy.md as Markdown, from measured figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reflink.evaluation.causes import CAUSES

Figures = Mapping[str, Any]

#: Worlds by their place in the figures, with their names on the page.
WORLDS: Final = {
    "closed": "closed",
    "open": "open, half absent",
    "open_80": "open, 80% present",
    "open_20": "open, 20% present",
    "raw_only.closed": "closed, raw text only",
    "raw_only.open": "open, raw text only",
}
#: Sources of references, with their names on the page.
SOURCES: Final = {
    "open": "articles",
    "raw_only.open": "articles, raw text only",
    "pubmed": "PubMed's lists",
    "pubmed_known": "PubMed's lists, known share",
    "mixture": "mixture",
}
CONTENTS: Final = {"title": "title", "names": "names, no title", "neither": "neither"}
_RATES: Final = ("precision", "recall", "f1", "false_link")
_RATE_HEADS: Final = ("precision", "recall", "F1", "false links")
_ACCEPTS: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95, 0.97, 0.99, 0.999)
_VERDICTS: Final = ("label", "linker", "version", "unclear", "unread")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page. ``head`` identifies it: no other table has the same columns. The first ``words`` are words."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def markdown(self) -> list[str]:
        """Return the lines."""
        rule = ["---" if at < self.words or name == "meaning" else "--:" for at, name in enumerate(self.head)]
        return [line(self.head), f"|{'|'.join(rule)}|", *map(line, self.rows)]


def line(cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def of_evaluation(measured: Figures) -> Iterator[Table]:
    """Yield the tables of the figures of ``reflink evaluate``; those that were not measured are left out."""
    worlds = {name: found for name in WORLDS if (found := at(measured, name))}
    if measured.get("open", {}).get("rule"):
        yield _headline(measured["open"])
    if opened := measured.get("open"):
        yield _thresholds(opened)
    yield _worlds(worlds)
    if any("without_suspects" in of for of in worlds.values()):
        yield _without_suspects(worlds)
    if measured.get("pubmed"):
        yield _sources(measured)
    if any(of["read"][name] for of in worlds.values() for name in _VERDICTS[:-1]):
        yield _read({**worlds, **({"pubmed": measured["pubmed"]} if "pubmed" in measured else {})})
    if {"closed", "open"} <= worlds.keys():
        yield _causes(worlds)
    if rows := measured.get("tables", {}).get("approaches"):
        yield _approaches(rows, measured["closed"])


def at(measured: Figures, name: str) -> Figures:
    """Return the figures of a world by its place, {} if they were not measured."""
    found: Any = measured
    for part in name.split("."):
        found = found.get(part, {})
    return dict(found)


def percent(value: float | None, digits: int = 2) -> str:
    """Return a share in percent, "" for None."""
    return "" if value is None else f"{100 * value:.{digits}f}%"


def rate(of: Figures, name: str, digits: int = 2) -> str:
    """Return a share in percent with its interval, "" if it was not measured."""
    if of.get(name) is None:
        return ""
    low, high = of[f"{name}_interval"]
    return f"{percent(of[name], digits)} [{100 * low:.{digits}f}, {100 * high:.{digits}f}]"


def _headline(opened: Figures) -> Table:
    rule = opened["rule"]
    best = rule["best"]
    rows = [
        (
            f"the published rule: nearest work by SBERT TVL, from cosine {rule['threshold']}",
            *(percent(rule[n]) for n in _RATES),
        ),
        (
            f"the same rule at its best threshold on this data, {best['threshold']:g}",
            *(percent(best[name]) for name in _RATES),
        ),
        ("**reflink, profile `production`**", *(f"**{rate(opened, name)}**" for name in _RATES)),
    ]
    return Table(("open world: half of the cited works are absent", *_RATE_HEADS), rows)


def _thresholds(opened: Figures) -> Table:
    rows = [
        (f"{row['accept']:g}", *(percent(row[n]) for n in _RATES)) for row in opened["thresholds"] if row["accept"] in _ACCEPTS
    ]
    return Table(("minimum probability", *_RATE_HEADS), rows, 0)


def _worlds(worlds: Mapping[str, Figures]) -> Table:
    rows = []
    for name, of in worlds.items():
        label = f"**{WORLDS[name]}**" if name == "open" else WORLDS[name]
        rows.append((label, f"{of['queries']:,}", *(rate(of, each) for each in ("error", *_RATES))))
        if name in ("closed", "open"):
            rows += [
                (
                    f"{name}, *{kind}*",
                    f"{of['kinds'][kind]['queries']:,}",
                    *(rate(of["kinds"][kind], n) for n in ("error", *_RATES)),
                )
                for kind in ("cocite", "front")
                if kind in of["kinds"]
            ]
    return Table(("", "queries", "error", *_RATE_HEADS), rows)


def _without_suspects(worlds: Mapping[str, Figures]) -> Table:
    rows = [
        (WORLDS[name], *(percent(sound.get(each)) for each in ("error", *_RATES)))
        for name, of in worlds.items()
        if (sound := of.get("without_suspects"))
    ]
    return Table(("without the suspects", "error", *_RATE_HEADS), rows)


def _sources(measured: Figures) -> Table:
    rows = []
    for name, source in SOURCES.items():
        of = at(measured, name)
        parts = {"all": of, **{CONTENTS[each]: part for each, part in of.get("contents", {}).items()}} if of else {}
        for label, part in parts.items():
            ece = part["calibration"]["ece"] if label == "all" else part["ece"]
            present = f"{part['present']:,}"
            rows.append((source, label, f"{part['queries']:,}", present, *(rate(part, each) for each in _RATES), percent(ece)))
    return Table(("source", "the reference has", "references", "present", *_RATE_HEADS, "calibration error"), rows, 2)


def _read(worlds: Mapping[str, Figures]) -> Table:
    heads = (
        "errors of",
        "label wrong",
        "linker wrong",
        "other version",
        "cannot tell",
        "not read",
        "the linker's own",
        "at most",
    )
    rows = [
        (
            {**WORLDS, **SOURCES, "open": WORLDS["open"], "raw_only.open": WORLDS["raw_only.open"]}[name],
            *(f"{of['read'][verdict]:,}" for verdict in _VERDICTS),
            rate(of["read"], "own", 3),
            percent(of["read"]["own_at_most"], 3),
        )
        for name, of in worlds.items()
        if name == "pubmed" or not of["read"]["unread"]
    ]
    return Table(heads, rows)


def _causes(worlds: Mapping[str, Figures]) -> Table:
    columns = (("closed", "wrong"), ("closed", "missed"), ("open", "wrong"), ("open", "missed"), ("open", "false"))
    counts = {cause: [worlds[world]["causes"].get(sort, {}).get(cause, 0) for world, sort in columns] for cause in CAUSES}
    rows = [
        (cause, *(str(n) if n else "" for n in found), CAUSES[cause])
        for cause, found in sorted(counts.items(), key=lambda item: -sum(item[1]))
        if any(found)
    ]
    return Table(("cause", "closed: other", "not linked", "open: other", "not linked", "absent", "meaning"), rows)


def _approaches(given: Sequence[Figures], closed: Figures) -> Table:
    rows = [
        (
            row["approach"], row["mode"], rate(row, "error") or "not measured", percent(row.get("error_with_fields")),
            percent(row.get("published")),
        )
        for row in given
        if row["mode"] != "TA"
    ]  # fmt: skip
    rows.append(("reflink, profile `production`", "", rate(closed, "error"), "", ""))
    return Table(("approach", "mode", "error [95%]", "error, with such fields", "error in the paper"), rows, 2)


def of_labels(measured: Figures) -> Table:
    """Return the table of the figures of ``python -m benchmarks.labels``, the sets in their order."""
    rows: list[tuple[str, ...]] = []
    for name, of in measured["sets"].items():
        for row in of["rows"]:
            shares = [_plain(row, each) for each in _RATES]
            rows.append((name, f"{row['asked']}; {row['part']}", f"{row['n']:,}", *shares))
        for peer in of["peers"]:
            shares = ["" if peer[each] is None else f"{100 * peer[each]:.2f}" for each in _RATES[:3]]
            rows.append(("", f"*{peer['name']}*, {peer['where']}", "", *shares, ""))
    return Table(("set", "task", "queries", *_RATE_HEADS), rows, 2)


def _plain(of: Figures, name: str) -> str:
    if of.get(name) is None:
        return ""
    if of.get(f"{name}_interval") is None:
        return f"{100 * of[name]:.2f}"
    low, high = of[f"{name}_interval"]
    return f"{100 * of[name]:.2f} [{100 * low:.2f}, {100 * high:.2f}]"
