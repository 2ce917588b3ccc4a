"""The dialogue of ``reflink evaluate --adjudicate``: shows errors with their records and takes a person's verdict on each."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.panel import Panel

from reflink.cli.dialogue import Buttons, Dialogue
from reflink.cli.keys import Keys
from reflink.cli.sidebyside import side_by_side
from reflink.entities import Reference, Work
from reflink.evaluation.adjudication import VERDICTS, Judgement, Judgements, read, write
from reflink.evaluation.outcomes import Mistake
from reflink.terminal import Terminal

#: Keys and the verdicts that they give.
KEYS: Final = {"l": "label", "k": "linker", "v": "version", "c": "unclear"}
_HELP: Final = "l label wrong   k linker wrong   v other version   c cannot tell   s skip   u undo   q quit"
_BUTTONS: Final = Buttons(KEYS, VERDICTS, _HELP, back="u", skip="s")


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

    def give(question: Question, verdict: str) -> None:
        given.append(Judgement(*question.key, verdict, today()))
        write(path, given)

    def take() -> None:
        given.pop()
        write(path, given)

    left = Dialogue(_BUTTONS, shown, give, take).run(asked, console, key)
    console.print(f"{len(given) - before} new verdicts in {path}; {left} errors left")
    return len(given) - before


def shown(question: Question, where: str) -> Panel:
    """Return an error: the citation as written, the two works beside the reference, and what the linker decided."""
    mistake, outcome = question.mistake, question.mistake.outcome
    link = outcome.link
    columns: dict[str, Reference | Work | None] = {"as cited": mistake.reference, "named by the data": mistake.target}
    if outcome.chosen != outcome.truth:
        columns["linked" if link.cited is not None else "best candidate, not linked"] = mistake.chosen
    ids = [outcome.rid, outcome.truth, *([outcome.chosen or "none"] if len(columns) > 2 else [])]
    facts = [
        f"{outcome.error} in {', '.join(question.worlds)}",
        "" if link.probability is None else f"probability {link.probability:.4f}",
        f"cause: {outcome.cause}" if outcome.cause else "",
        f"suspect: {outcome.suspect}" if outcome.suspect else "",
        *link.reasons,
    ]
    return side_by_side(mistake.reference.raw_query, columns, ids, facts, where)
