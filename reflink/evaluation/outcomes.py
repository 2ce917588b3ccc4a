"""What became of one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reflink.entities import Link

#: ``wrong``: another work was linked though the target is there. ``missed``: none was. ``false``: the target is absent.
Error = Literal["wrong", "missed", "false"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one query. ``present``: its target is in the catalog. ``right``: the link names it.

    ``best``: whether the best candidate is the target, linked or not. ``cause``: of an error, one of
    `reflink.evaluation.causes.CAUSES`. ``suspect``: why the target that the data name is probably false.
    """

    rid: str
    kind: str
    present: bool
    right: bool
    link: Link
    best: bool = False
    cause: str | None = None
    suspect: str | None = None

    @property
    def error(self) -> Error | None:
        """What went wrong, if anything."""
        if self.right or (self.link.cited is None and not self.present):
            return None
        if self.link.cited is None:
            return "missed"
        return "wrong" if self.present else "false"

    @property
    def chosen(self) -> str | None:
        """The work linked, or without a link the best candidate; None when nothing was proposed."""
        return best_of(self.link)

    def to_dict(self) -> dict[str, Any]:
        """One line of an outcomes file."""
        link = self.link
        line = {
            "rid": self.rid, "cited": link.cited, "probability": link.probability, "present": self.present,
            "right": self.right, "kind": self.kind, "method": link.method, "score": link.score,
            "unresolved": link.unresolved, "reasons": list(link.reasons) or None,
            "runner_up": link.runner_up.to_dict() if link.runner_up else None,
        }  # fmt: skip
        return {name: value for name, value in line.items() if value is not None or name in ("cited", "probability")}


def best_of(link: Link) -> str | None:
    """The work linked, or the best that was refused, which an outcome without a link names as its runner-up."""
    if link.cited is not None:
        return link.cited
    return link.runner_up.cited if link.runner_up else None
