"""Verdicts of a person on errors of an evaluation: kept in a file, and used by every later run.

A verdict is on one error: the reference, the work that the data name as its target, and the work that the linker chose. Another
work chosen by a later model is a new question. The file has a JSON line for each verdict, identifiers and no texts::

    {"rid": "PMC1#B2@2", "truth": "doi:10.1/a", "chosen": "doi:10.1/b", "verdict": "label", "date": "2026-11-24"}

``verdict`` is one of VERDICTS; a ``note`` is optional. Of several lines on one error the last counts. The package has the
verdicts on its own data (``adjudicated.jsonl``); a file beside the data adds to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final

from reflink.evaluation import verdict_files
from reflink.evaluation.bootstrap import intervals
from reflink.evaluation.outcomes import Outcome

#: Verdicts on an error and their meaning.
VERDICTS: Final[dict[str, str]] = {
    "label": "the label is wrong: the record that the data name is not of the work that the reference cites",
    "linker": "the linker is wrong: the reference cites the work that the data name",
    "version": "the linker chose another version of the cited work",
    "unclear": "the records do not suffice to tell",
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person's verdict on one error. ``chosen``: the linked work or the best candidate, None without one. ``date``: ISO."""

    rid: str
    truth: str
    chosen: str | None
    verdict: str
    date: str
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str | None]:
        """The error."""
        return self.rid, self.truth, self.chosen

    def to_dict(self) -> dict[str, Any]:
        """Return the line of a file."""
        return {name: value for name, value in asdict(self).items() if value != "" or name != "note"}


class Judgements:
    """Verdicts by error. ``given``: in the order in which they were given; of several on one error the last counts."""

    def __init__(self, given: Iterable[Judgement] = ()) -> None:
        self._by_error: dict[tuple[str, str, str | None], Judgement] = {}
        self._labels: dict[tuple[str, str], Judgement] = {}
        for judgement in given:
            self._by_error[judgement.key] = judgement
            label = judgement.rid, judgement.truth
            if judgement.verdict in ("label", "linker"):
                self._labels[label] = judgement

    @classmethod
    def known(cls, path: Path | None = None) -> Judgements:
        """Return the package's verdicts and those of a file, if it exists. Raises BadRecord with file and line."""
        shipped = resources.files("reflink.evaluation").joinpath("adjudicated.jsonl").read_bytes()
        return cls([*parsed(shipped, "adjudicated.jsonl"), *(read(path) if path else ())])

    def of(self, rid: str, truth: str, chosen: str | None) -> Judgement | None:
        """Return the verdict on an error."""
        return self._by_error.get((rid, truth, chosen))

    def suspicion(self, rid: str, truth: str, otherwise: str | None = None) -> str | None:
        """Return the reason why the data name a wrong work for a reference, whatever the linker chooses.

        A person's verdict that the label, or the linker, is wrong outranks the reason ``otherwise`` of a rule.
        """
        read = self._labels.get((rid, truth))
        if read is None:
            return otherwise
        return f"read by a person: {read.note or VERDICTS['label']}" if read.verdict == "label" else None

    def applied(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the verdict on its error, and with its suspicion."""
        read = self.of(outcome.rid, outcome.truth, outcome.chosen) if outcome.error else None
        suspect = self.suspicion(outcome.rid, outcome.truth, outcome.suspect)
        return replace(outcome, verdict=read.verdict if read else None, suspect=suspect)


def read(path: Path) -> list[Judgement]:
    """Return the verdicts of a file in order, none if it does not exist. Raises BadRecord with file and line."""
    return parsed(path.read_bytes(), path.name) if path.exists() else []


def parsed(data: bytes, name: str) -> list[Judgement]:
    """Return the verdicts of a file's content. Raises BadRecord."""
    return verdict_files.parsed(data, name, Judgement, VERDICTS)


def write(path: Path, judgements: Iterable[Judgement]) -> None:
    """Replace the file atomically."""
    verdict_files.write(path, (each.to_dict() for each in judgements))


def counted(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the errors by verdict, those without one as ``unread``, and the share of all queries that are the linker's errors.

    ``own``: share with the verdict ``linker``, and its interval; ``own_at_most``: the same with ``unclear`` and ``unread``.
    """
    errors = Counter(outcome.verdict or "unread" for outcome in outcomes if outcome.error)
    n = len(outcomes)
    own = [float(outcome.error is not None and outcome.verdict == "linker") for outcome in outcomes]
    doubtful = sum(errors[name] for name in ("linker", "unclear", "unread"))
    return {
        **{name: errors[name] for name in (*VERDICTS, "unread")},
        "own": round(errors["linker"] / n, 6) if n else 0.0,
        "own_interval": intervals([outcome.link.citing for outcome in outcomes], {"own": (own, 1)})["own"],
        "own_at_most": round(doubtful / n, 6) if n else 0.0,
    }
