"""A dialogue that shows one question after another and takes a person's answer to each by a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from reflink.cli.keys import END, Keys
from reflink.terminal import Terminal, styled

Q = TypeVar("Q")


@dataclass(frozen=True, slots=True)
class Buttons:
    """The keys of a dialogue. ``answers``: the answer that each key gives, with its meaning in ``meanings``.

    ``back`` takes back the last answer of this dialogue, ``skip`` leaves a question open (None: not possible), ``quit`` ends
    the dialogue. ``line``: shown below each question.
    """

    answers: Mapping[str, str]
    meanings: Mapping[str, str]
    line: str
    back: str
    skip: str | None
    quit: str = "q"


@dataclass(frozen=True, slots=True)
class Dialogue(Generic[Q]):
    """``shown``: what rich prints for a question and its number.

    ``give`` keeps an answer, ``take`` takes the last one back; both write at once.
    """

    buttons: Buttons
    shown: Callable[[Q, str], Any]
    give: Callable[[Q, str], None]
    take: Callable[[], None]

    def run(self, questions: Sequence[Q], console: Terminal, key: Keys) -> int:
        """Ask the questions in order until the last one, the key for quitting or the end of the input.

        Returns the number of questions that were neither answered nor skipped.
        """
        buttons, at = self.buttons, 0
        history: list[tuple[int, bool]] = []
        known = {*buttons.answers, buttons.back, buttons.quit, END} | ({buttons.skip} if buttons.skip else set())
        while at < len(questions):
            console.print(self.shown(questions[at], f"{at + 1} of {len(questions)}"))
            console.print(buttons.line, style="bold")
            while (pressed := key().lower()) not in known:
                console.print(buttons.line)
            if pressed in (buttons.quit, END):
                break
            if pressed == buttons.back:
                if history:
                    at, answered = history.pop()
                    if answered:
                        self.take()
                continue
            if answer := buttons.answers.get(pressed):
                self.give(questions[at], answer)
                console.print(styled((f"{answer}: {buttons.meanings[answer]}", "green")))
            history.append((at, answer is not None))
            at += 1
        return len(questions) - at
