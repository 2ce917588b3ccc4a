"""The outcome of one query of an evaluation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from reflink.entities import Link, Reference, Work
from reflink.evaluation.records import Query

#: ``wrong``: another work was linked although the target is present. ``missed``: the target is present, and no work was linked.
#: ``false``: a work was linked although the target is absent.
Error = Literal["wrong", "missed", "false"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one query. ``present``: its target is in the catalog. ``right``: the link names the target.

    ``best``: the best candidate is the target, linked or not. ``cause``: the cause of an error, one of
    `reflink.evaluation.causes.CAUSES`. ``suspect``: the reason why the target given in the data is probably false.
    ``contents``: what the reference has (`reflink.evaluation.contents`). ``truth``: the target given in the data, a work id.
    ``verdict``: of a person on the error (`reflink.evaluation.adjudication`).
    """

    rid: str
    kind: str
    present: bool
    right: bool
    link: Link
    best: bool = False
    cause: str | None = None
    suspect: str | None = None
    contents: str = "title"
    truth: str = ""
    verdict: str | None = None

    @property
    def error(self) -> Error | None:
        """The kind of error, or None."""
        if self.right or (self.link.cited is None and not self.present):
            return None
        if self.link.cited is None:
            return "missed"
        return "wrong" if self.present else "false"

    @property
    def chosen(self) -> str | None:
        """The linked work or, without a link, the best candidate; None if nothing was proposed."""
        return best_of(self.link)

    def to_dict(self) -> dict[str, Any]:
        """Return one line of an outcomes file."""
        link = self.link
        line = {
            "rid": self.rid, "cited": link.cited, "probability": link.probability, "present": self.present,
            "right": self.right, "kind": self.kind, "contents": self.contents, "method": link.method, "score": link.score,
            "unresolved": link.unresolved, "reasons": list(link.reasons) or None,
            "runner_up": link.runner_up.to_dict() if link.runner_up else None,
        }  # fmt: skip
        return {name: value for name, value in line.items() if value is not None or name in ("cited", "probability")}


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong outcome with the records that explain it. A work is None if it does not exist or is not in the works' file."""

    outcome: Outcome
    reference: Reference
    target: Work | None
    chosen: Work | None


def best_of(link: Link) -> str | None:
    """Return the linked work, or the best rejected candidate, which is the runner-up of an outcome without a link."""
    if link.cited is not None:
        return link.cited
    return link.runner_up.cited if link.runner_up else None


def outcome_of(
    query: Query, link: Link, same: Collection[str], *, present: bool, suspect: str | None, contents: str
) -> Outcome:
    """Return the outcome of a query. ``same``: all ids of its target. The other arguments are fields of `Outcome`."""
    best = present and best_of(link) in same
    right = best and link.cited is not None
    rid = query.reference.id
    return Outcome(rid, query.kind, present, right, link, best, suspect=suspect, contents=contents, truth=query.truth)
