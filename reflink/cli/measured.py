"""Tables of the results of ``reflink evaluate`` on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reflink.cli.output import table
from reflink.terminal import Terminal

Figures = Mapping[str, Any]

_RATES: Final = ("error", "precision", "recall", "f1", "false_link")
_HEADS: Final = ("error", "precision", "recall", "f1", "false link")
_WORLDS: Final = (
    "closed",
    "open",
    "open_80",
    "open_20",
    "raw_only.closed",
    "raw_only.open",
    "pubmed",
    "pubmed_known",
    "mixture",
)
#: Names of the contents of a reference.
_CONTENTS: Final = {"title": "title", "names": "names, no title", "neither": "neither"}
#: Rows of the threshold sweep that are shown; the figures contain more.
_ACCEPTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.995, 0.999)


def show(measured: Figures, console: Terminal) -> None:
    """Print all figures, one table for each subject."""
    worlds = dict(_worlds(measured))
    _show_worlds(worlds, console)
    for name, figures in worlds.items():
        if "absent_share" in figures:
            console.print(f"{name}: estimated share of absent works {_percent(figures['absent_share'])}")
        if known := figures.get("calibration"):
            console.print()
            console.print(
                f"{name}: expected calibration error {100 * known['ece']:.3f}% (20 bins of equal mass), "
                f"{100 * known['ece_equal_width']:.3f}% (of equal width), Brier {known['brier']:.5f}"
            )
    _show_times(worlds, console)
    _show_causes(worlds, console)
    _show_read(worlds, console)
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
    shown = table([("world", 2), ("queries", 1), ("n", 1), *((head, 3) for head in _HEADS), ("ECE", 1)])
    for world, figures in worlds.items():
        sound = {"not suspect": figures["without_suspects"]} if "without_suspects" in figures else {}
        kinds = figures["kinds"] if len(figures["kinds"]) > 1 else {}
        contents = {_CONTENTS[name]: of for name, of in figures["contents"].items()}
        for kind, of in {"all": figures, **sound, **kinds, **contents}.items():
            ece = "" if of.get("ece") is None else f"{100 * of['ece']:.2f}%"
            shown.add_row(world, kind, str(of["queries"]), *(_rate(of, name) for name in _RATES), ece)
    console.print(shown)


def _show_read(worlds: Mapping[str, Figures], console: Terminal) -> None:
    from reflink.evaluation.adjudication import VERDICTS  # imported here, because the command line starts without numpy

    heads = ("world", *VERDICTS, "unread", "linker's own", "at most")
    rows = [
        (world, *(str(of[name]) for name in (*VERDICTS, "unread")), _rate(of, "own", 3), _percent(of["own_at_most"], 3))
        for world, figures in worlds.items()
        if (of := figures.get("read")) and sum(of[name] for name in VERDICTS)
    ]
    if rows:
        _print(console, "errors read by a person, by verdict", heads, rows)


def _show_causes(worlds: Mapping[str, Figures], console: Terminal) -> None:
    rows = [
        (world, sort, cause, str(n))
        for world, figures in worlds.items()
        for sort, of in figures["causes"].items()
        for cause, n in of.items()
    ]
    if rows:
        _print(console, "errors by cause", ("world", "error", "cause", "queries"), rows)


def _show_times(worlds: Mapping[str, Figures], console: Terminal) -> None:
    rows = [
        (world, *(_plain(1e6 * of[name], 3) for name in ("seconds", "seconds_in_batches")), str(of["timed"]["load"]))
        for world, figures in worlds.items()
        if (of := figures.get("time")) and of["seconds"] is not None
    ]
    if rows:
        of = next(figures["time"]["timed"] for figures in worlds.values() if figures.get("time"))
        counted = f"{of['alone']} one at a time, {of['in_batches']} in batches of {of['batch']}"
        title = f"median microseconds a reference, one thread: {counted}"
        _print(console, title, ("world", "one at a time", "in batches", "load"), rows)


def _show_thresholds(figures: Figures, console: Terminal) -> None:
    if swept := [row for row in figures.get("thresholds", ()) if row["accept"] in _ACCEPTS]:
        _print(console, "open world, by min probability of a link", ("accept", *_HEADS[1:]), _swept(swept, "accept"))
    if rule := figures.get("rule"):
        title = "open world, the semantic nearest neighbour by min cosine: the published threshold, and the best"
        _print(console, title, ("cosine", *_HEADS[1:]), _swept((rule, rule["best"]), "threshold"))


def _show_tables(tables: Figures, console: Terminal) -> None:
    if rows := tables.get("approaches"):
        heads = ("approach", "mode", "error", "the paper's", "s a reference", "the paper's")
        _print(console, "closed world, the published approaches", heads, map(_approach, rows))
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
            write = _percent if name == "fields" else _plain
            lines = [
                (side, letter, write(of.get("share", of.get("characters"))), write(of["published"]))
                for side, letter, of in _cells(given)
            ]
            _print(console, title, ("", "field", "here", "the paper's"), lines)


def _print(console: Terminal, title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table below its title."""
    shown = table([(head, None) for head in heads])
    for row in rows:
        shown.add_row(*row)
    console.print()
    console.print(title)
    console.print(shown)


def _swept(rows: Iterable[Figures], threshold: str) -> Iterator[tuple[str, ...]]:
    for row in rows:
        yield (f"{row[threshold]:g}", *(_percent(row[name]) for name in _RATES[1:]))


def _approach(row: Figures) -> tuple[str, ...]:
    error = _rate(row, "error") if row.get("error") is not None else row.get("why", "")
    times = (_plain(row.get(name), 3) for name in ("seconds", "published_seconds"))
    return row["approach"], row["mode"], error, _percent(row.get("published")), *times


def _cells(given: Figures) -> Iterator[tuple[str, str, Figures]]:
    for name, value in given.items():
        if isinstance(value, Mapping):
            if "published" in value:
                yield "", name, value
            else:
                yield from ((name, letter, of) for letter, of in value.items())


def _percent(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}%"


def _plain(value: float | None, digits: int = 6) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def _rate(figures: Figures, name: str, digits: int = 2) -> str:
    if name not in figures:
        return ""
    low, high = figures[f"{name}_interval"]
    return f"{_percent(figures[name], digits)} [{100 * low:.{digits}f}, {100 * high:.{digits}f}]"
