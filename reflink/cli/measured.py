"""Tables of the results of ``reflink evaluate`` on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reflink.cli.output import table
from reflink.terminal import Terminal

Figures = Mapping[str, Any]

_RATES: Final = ("error", "precision", "recall", "f1", "false_link")
_WORLDS: Final = ("closed", "open", "open_80", "open_20", "raw_only.closed", "raw_only.open")
#: Rows of the threshold sweep that are shown; the figures contain more.
_ACCEPTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.995, 0.999)


def show(measured: Figures, console: Terminal) -> None:
    """Print all figures, one table for each subject."""
    worlds = dict(_worlds(measured))
    _show_worlds(worlds, console)
    for name, figures in worlds.items():
        if known := figures.get("calibration"):
            console.print()
            console.print(
                f"{name}: expected calibration error {100 * known['ece']:.3f}% (20 bins of equal mass), "
                f"{100 * known['ece_equal_width']:.3f}% (of equal width), Brier {known['brier']:.5f}"
            )
    _show_causes(worlds, console)
    _show_thresholds(worlds.get("open", {}), console)
    _show_tables(measured.get("tables") or {}, console)


def _worlds(measured: Figures) -> Iterator[tuple[str, Figures]]:
    for name in _WORLDS:
        figures: Any = measured
        for part in name.split("."):
            figures = figures.get(part, {})
        if figures:
            yield name, figures


def _show_worlds(worlds: Mapping[str, Figures], console: Terminal) -> None:
    shown = table(
        [("world", 2), ("queries", 1), ("n", 1), *((name, 3) for name in ("error", "precision", "recall", "f1", "false link"))]
    )
    for world, figures in worlds.items():
        sound = {"not suspect": figures["without_suspects"]} if "without_suspects" in figures else {}
        for kind, of in {"all": figures, **sound, **figures["kinds"]}.items():
            shown.add_row(world, kind, str(of["queries"]), *(_rate(of, name) for name in _RATES))
    console.print(shown)


def _show_causes(worlds: Mapping[str, Figures], console: Terminal) -> None:
    rows = [
        (world, sort, cause, str(n))
        for world, figures in worlds.items()
        for sort, of in figures["causes"].items()
        for cause, n in of.items()
    ]
    if rows:
        shown = table([("world", None), ("error", None), ("cause", None), ("queries", None)])
        for row in rows:
            shown.add_row(*row)
        console.print()
        console.print("errors by cause")
        console.print(shown)


def _show_thresholds(figures: Figures, console: Terminal) -> None:
    if swept := [row for row in figures.get("thresholds", ()) if row["accept"] in _ACCEPTS]:
        shown = table([(name, None) for name in ("accept", "precision", "recall", "f1", "false link")])
        for row in swept:
            shown.add_row(f"{row['accept']:g}", *(_percent(row[name]) for name in _RATES[1:]))
        console.print()
        console.print("open world, by min probability of a link")
        console.print(shown)
    if rule := figures.get("rule"):
        shown = table([(name, None) for name in ("cosine", "precision", "recall", "f1", "false link")])
        for row in (rule, rule["best"]):
            shown.add_row(f"{row['threshold']:g}", *(_percent(row[name]) for name in _RATES[1:]))
        console.print()
        console.print("open world, the semantic nearest neighbour by min cosine: the published threshold, and the best")
        console.print(shown)


def _show_tables(tables: Figures, console: Terminal) -> None:
    if rows := tables.get("approaches"):
        shown = table([(name, None) for name in ("approach", "mode", "error", "the paper's", "s a reference", "the paper's")])
        for row in rows:
            error = _rate(row, "error") if row.get("error") is not None else row.get("why", "")
            times = (_seconds(row.get(name)) for name in ("seconds", "published_seconds"))
            shown.add_row(row["approach"], row["mode"], error, _percent(row.get("published")), *times)
        console.print()
        console.print("closed world, the published approaches")
        console.print(shown)
    if at := (tables.get("curve") or {}).get("nearest"):
        console.print()
        console.print(
            f"SBERT TVL: the threshold nearest (1, 1) is {at['threshold']:.4f}, precision {_percent(at['precision'])}, "
            f"recall {_percent(at['recall'])} of the queries with a right answer; the paper: 0.7959"
        )
    if swept := tables.get("hybrid"):
        best = min(swept, key=lambda row: row["error"])
        console.print(
            f"hybrid: lowest error {_percent(best['error'])} at threshold {best['threshold']:g}, with "
            f"{_percent(best['fallback'])} in the fallback"
        )
    for name, title in (
        ("fields", "share of the records that have a field"),
        ("limits", "length that 95% do not exceed, in characters"),
    ):
        if given := tables.get(name):
            shown = table([(head, None) for head in ("", "field", "here", "the paper's")])
            for side, letter, of in _cells(given):
                here = of.get("share", of.get("characters"))
                cells = [_percent(value) if name == "fields" else _plain(value) for value in (here, of["published"])]
                shown.add_row(side, letter, *cells)
            console.print()
            console.print(title)
            console.print(shown)


def _cells(given: Figures) -> Iterator[tuple[str, str, Figures]]:
    for name, value in given.items():
        if isinstance(value, Mapping):
            if "published" in value:
                yield "", name, value
            else:
                yield from ((name, letter, of) for letter, of in value.items())


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}%"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _rate(figures: Figures, name: str) -> str:
    if name not in figures:
        return ""
    low, high = figures[f"{name}_interval"]
    return f"{_percent(figures[name])} [{100 * low:.2f}, {100 * high:.2f}]"
