"""The report's list of mistakes: each with the citation as written, the chosen work, the target and the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reflink.entities import Reference, Work
from reflink.evaluation.causes import CAUSES
from reflink.evaluation.outcomes import Mistake
from reflink.evaluation.report.markup import Markup, tag

_SORTS: Final = {
    "wrong": "Wrong links: another work than the target",
    "false": "False links: the target is not in the catalog",
    "missed": "Missed: the target is there and nothing was linked",
}
_FIELDS: Final = ("title", "authors", "venue", "year", "volume", "first page")
#: Maximum mistakes of one cause that are listed. A verdict makes far fewer; a rule that always links would need megabytes.
MOST: Final = 500
#: Maximum characters of a citation that are shown; real citations are shorter.
_LONG: Final = 1200


def mistakes(found: Sequence[Mistake]) -> Markup:
    """Return one world's mistakes by kind and cause, the highest probability first, at most MOST of one cause."""
    parts: list[Markup] = []
    for sort, label in _SORTS.items():
        of_sort = [each for each in found if each.outcome.error == sort]
        if not of_sort:
            continue
        parts.append(tag("h4", f"{label} ({len(of_sort):,})"))
        for cause in CAUSES:
            some = sorted((each for each in of_sort if each.outcome.cause == cause), key=_surest)
            if some:
                title = tag("summary", f"{cause} ({len(some):,})")
                note = CAUSES[cause]
                if len(some) > MOST:
                    note += f"; the {MOST} surest, all are in the file of --outcomes"
                parts.append(tag("details", title, tag("p", note, class_="note"), map(_shown, some[:MOST])))
    return tag("div", parts or tag("p", "None."))


def _surest(mistake: Mistake) -> tuple[float, str]:
    link = mistake.outcome.link
    sure = link.score if link.probability is None else link.probability
    return -(sure or 0.0), mistake.outcome.rid


def _shown(mistake: Mistake) -> Markup:
    outcome, link = mistake.outcome, mistake.outcome.link
    query = mistake.reference.raw_query
    text = query if len(query) <= _LONG else f"{query[:_LONG]}…"
    facts = [
        f"probability {link.probability:.4f}" if link.probability is not None else "",
        f"score {link.score:.4f} by {link.method}" if link.score is not None else link.unresolved or "",
        outcome.kind,
        f"runner-up {link.runner_up.cited}" if link.cited and link.runner_up else "",
        f"status {link.status}" if link.status else "",
        f"suspect: {outcome.suspect}" if outcome.suspect else "",
        f"read by a person: {outcome.verdict}" if outcome.verdict else "",
    ]
    return tag(
        "article",
        tag("p", tag("bdi", text or "(no text)"), class_="query"),
        _compared(mistake),
        tag("p", [tag("span", reason, class_="reason") for reason in link.reasons]) if link.reasons else None,
        tag("p", " · ".join(filter(None, facts)), " · ", tag("code", outcome.rid), class_="note"),
    )


def _compared(mistake: Mistake) -> Markup:
    """Return the fields of the reference, the chosen work and the target side by side."""
    chosen = "linked" if mistake.outcome.link.cited is not None else "best candidate, refused"
    records: dict[str, Reference | Work | None] = {"as cited": mistake.reference, chosen: mistake.chosen}
    if mistake.chosen is None or mistake.target is None or mistake.chosen.id != mistake.target.id:
        records["the target"] = mistake.target
    head = tag("tr", tag("th"), [tag("th", name) for name in records])
    sides = [_fields(record) for record in records.values()]
    lines = [
        tag("tr", tag("th", field), [tag("td", tag("bdi", side[at])) for side in sides])
        for at, field in enumerate(_FIELDS)
        if any(side[at] for side in sides)
    ]
    ids = tag("tr", tag("th", "id"), [tag("td", tag("code", _id(record))) for record in records.values()])
    return tag("div", tag("table", head, lines, ids), class_="wide")


def _fields(record: Reference | Work | None) -> list[str]:
    if record is None:
        return [""] * len(_FIELDS)
    page = record.fpage if isinstance(record, Work) else record.first_page
    year = "" if record.year is None else str(record.year)
    names = ", ".join(record.last_names[:12]) + (" …" if len(record.last_names) > 12 else "")
    return [record.title or "", names, record.venue or "", year, record.volume or "", page or ""]


def _id(record: Reference | Work | None) -> str:
    if record is None:
        return "not in the list of works, or none"
    return record.id if isinstance(record, Work) else ""
