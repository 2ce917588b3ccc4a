"""Report a set's figures beside the published ones of peers: on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.table import Table as Printed

#: Columns of shares, by their name in the figures.
_SHARES: Final = ("precision", "recall", "f1", "false_link", "accuracy")


@dataclass(frozen=True, slots=True)
class Peer:
    """A published figure of a peer on this set; ``where`` names the part, if it is not the whole set."""

    name: str
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    where: str = "as published"


@dataclass(frozen=True)
class Row:
    """One measurement: the task, the part of the set, its figures (scores.py), and its errors."""

    task: str
    part: str
    figures: dict[str, Any]
    wrong: Sequence[dict[str, Any]] = field(default=(), repr=False)


@dataclass(frozen=True)
class Table:
    """The results of a set: ours, the peers', and a sentence on each comparison that holds or does not."""

    name: str
    title: str
    rows: Sequence[Row]
    peers: Sequence[Peer]
    notes: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON; all shares are fractions."""
        return {
            "title": self.title,
            "rows": [{"asked": row.task, "part": row.part, **row.figures, "wrong": list(row.wrong)} for row in self.rows],
            "peers": [
                {"name": peer.name, "where": peer.where, "precision": peer.precision, "recall": peer.recall, "f1": peer.f1}
                for peer in self.peers
            ],
            "notes": list(self.notes),
        }

    def show(self, console: Console) -> None:
        """Print the table: percent, 95% intervals in brackets."""
        printed = Printed(title=self.title, title_justify="left", pad_edge=False)
        printed.add_column("what")
        printed.add_column("of")
        for name in ("n", "present"):
            printed.add_column(name, justify="right")
        for name in _SHARES:
            printed.add_column(name.replace("_", " "), justify="right")
        for row in self.rows:
            counts = (f"{row.figures['n']:,}", f"{row.figures['present']:,}")
            printed.add_row(row.task, row.part, *counts, *(_cell(row.figures, name) for name in _SHARES))
        printed.add_section()
        for peer in self.peers:
            shares = (peer.precision, peer.recall, peer.f1)
            printed.add_row(peer.name, peer.where, "", "", *("" if share is None else f"{100 * share:.2f}" for share in shares))
        console.print(printed)
        for note in self.notes:
            console.print(f"- {note}", highlight=False)


def _cell(figures: dict[str, Any], name: str) -> str:
    if figures[name] is None:
        return ""
    if figures[f"{name}_interval"] is None:
        return f"{100 * figures[name]:.2f}"
    low, high = figures[f"{name}_interval"]
    return f"{100 * figures[name]:.2f} [{100 * low:.2f}, {100 * high:.2f}]"
