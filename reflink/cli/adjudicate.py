"""The dialogue of ``reflink evaluate --adjudicate``: shows errors with their records and takes a person's verdict on each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from reflink.cli.keys import END, Keys
from reflink.entities import Reference, Work
from reflink.evaluation.adjudication import VERDICTS, Judgement, Judgements, read, write
from reflink.evaluation.outcomes import Mistake
from reflink.folding import compact
from reflink.terminal import Terminal, one_line, styled

#: Keys and the verdicts that they give.
KEYS: Final = {"l": "label", "k": "linker", "v": "version", "c": "unclear"}
UNDO, SKIP, QUIT = "u", "s", "q"
_FIELDS: Final = ("title", "authors", "venue", "year", "volume", "page")
_NAMES: Final = 12
_HELP: Final = "l label wrong   k linker wrong   v other version   c cannot tell   s skip   u undo   q quit"


@dataclass(frozen=True, slots=True)
class Question:
    """An error to decide, with the names of the worlds in which it occurs."""

    mistake: Mistake
    worlds: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str | None]:
        """The error, as of Judgement."""
        outcome = self.mistake.outcome
        return outcome.rid, outcome.truth, outcome.chosen


def questions(
    mistakes: Mapping[str, Sequence[Mistake]], known: Judgements, count: int | None = None, seed: int = 1
) -> list[Question]:
    """Return the errors without a verdict, each once; ``count`` of them drawn at random, or all in the order of the worlds."""
    found: dict[tuple[str, str, str | None], Question] = {}
    for world, some in mistakes.items():
        for mistake in some:
            new = Question(mistake, (world,))
            before = found.get(new.key)
            found[new.key] = new if before is None else Question(before.mistake, (*before.worlds, world))
    open_ = [question for key, question in found.items() if known.of(*key) is None]
    return open_ if count is None or count >= len(open_) else random.Random(seed).sample(open_, count)


def adjudicate(asked: Sequence[Question], path: Path, console: Terminal, key: Keys, today: Callable[[], str]) -> int:
    """Show the questions one after another, and keep each verdict in ``path`` at once; return the number of new verdicts.

    ``today``: the date of a verdict. A verdict can be undone until the dialogue ends. Raises BadRecord if the file is damaged,
    and OSError if it cannot be written.
    """
    given = read(path)
    before = len(given)
    at = 0
    history: list[tuple[int, bool]] = []
    while at < len(asked):
        question = asked[at]
        console.print(shown(question, f"{at + 1} of {len(asked)}"))
        console.print(_HELP, style="bold")
        while (pressed := key().lower()) not in (*KEYS, UNDO, SKIP, QUIT, END):
            console.print(_HELP)
        if pressed in (QUIT, END):
            break
        if pressed == UNDO:
            if history:
                at, decided = history.pop()
                if decided:
                    given.pop()
                    write(path, given)
            continue
        if pressed in KEYS:
            rid, truth, chosen = question.key
            given.append(Judgement(rid, truth, chosen, KEYS[pressed], today()))
            write(path, given)
            console.print(styled((f"{KEYS[pressed]}: {VERDICTS[KEYS[pressed]]}", "green")))
        history.append((at, pressed in KEYS))
        at += 1
    console.print(f"{len(given) - before} new verdicts in {path}; {len(asked) - at} errors left")
    return len(given) - before


def shown(question: Question, where: str) -> Panel:
    """Return an error: the citation as written, the two works beside the reference, and what the linker decided."""
    mistake, outcome = question.mistake, question.mistake.outcome
    link = outcome.link
    chosen = "linked" if link.cited is not None else "best candidate, not linked"
    columns: dict[str, Reference | Work | None] = {"as cited": mistake.reference, "named by the data": mistake.target}
    if outcome.chosen != outcome.truth:
        columns[chosen] = mistake.chosen
    grid = Table(box=None, pad_edge=False, expand=True)
    grid.add_column("")
    for name in columns:
        grid.add_column(name, ratio=1, overflow="fold")
    sides = [_values(record) for record in columns.values()]
    for name in _FIELDS:
        values = [side.get(name, "") for side in sides]
        if any(values):
            grid.add_row(name, values[0], *(_compared(value, values[0]) for value in values[1:]))
    ids = [outcome.truth, *([outcome.chosen or "none"] if len(columns) > 2 else [])]
    grid.add_row("id", outcome.rid, *ids)
    facts = [
        f"{outcome.error} in {', '.join(question.worlds)}",
        "" if link.probability is None else f"probability {link.probability:.4f}",
        f"cause: {outcome.cause}" if outcome.cause else "",
        f"suspect: {outcome.suspect}" if outcome.suspect else "",
        *link.reasons,
    ]
    parts = Table.grid(expand=True)
    parts.add_row(Text(one_line(mistake.reference.raw_query or "(no text)"), style="italic"))
    parts.add_row("")
    parts.add_row(grid)
    parts.add_row("")
    parts.add_row(Text(one_line("; ".join(filter(None, facts))), style="dim"))
    return Panel(parts, title=where, title_align="left")


def _values(record: Reference | Work | None) -> dict[str, str]:
    if record is None:
        return {"title": "(no record)"}
    page = record.fpage if isinstance(record, Work) else record.first_page
    title = record.title or (record.chapter_title if isinstance(record, Reference) else None)
    names = ", ".join(record.last_names[:_NAMES]) + (" …" if len(record.last_names) > _NAMES else "")
    year = "" if record.year is None else str(record.year)
    found: Iterable[tuple[str, str | None]] = zip(_FIELDS, (title, names, record.venue, year, record.volume, page), strict=True)
    return {name: value for name, value in found if value}


def _compared(value: str, cited: str) -> Text:
    """Return a work's field, marked where it differs from the reference's; a missing field differs from nothing."""
    differs = bool(value and cited) and compact(value) != compact(cited)
    return Text(one_line(f"≠ {value}" if differs else value), style="bold red" if differs else "")
