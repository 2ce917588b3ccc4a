"""Records beside each other, with the fields in which they agree and differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from reflink.entities import Reference, Work
from reflink.folding import compact
from reflink.terminal import one_line

_FIELDS: Final = ("title", "authors", "venue", "year", "volume", "page")
_NAMES: Final = 12


def side_by_side(
    written: str, columns: Mapping[str, Reference | Work | None], ids: Sequence[str], facts: Iterable[str], where: str
) -> Panel:
    """Return the citation as ``written``, and below it the records by the name of their column, each compared with the first.

    "=" marks a field of equal letters and digits, "≠" a field that differs. ``ids``: of the records. ``facts``: a line below
    them. ``where``: the title.
    """
    grid = Table(box=None, pad_edge=False, expand=True)
    grid.add_column("")
    for name in columns:
        grid.add_column(name, ratio=1, overflow="fold")
    sides = [_values(record) for record in columns.values()]
    for name in _FIELDS:
        values = [side.get(name, "") for side in sides]
        if any(values):
            grid.add_row(name, one_line(values[0]), *(_compared(value, values[0]) for value in values[1:]))
    grid.add_row("id", *ids)
    parts = Table.grid(expand=True)
    parts.add_row(Text(one_line(written or "(no text)"), style="italic"))
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
    """Return a work's field, marked as equal to the reference's or different; a missing field is not marked."""
    if not value or not cited:
        return Text(one_line(value))
    if compact(value) == compact(cited):
        return Text(one_line(f"= {value}"), style="green")
    return Text(one_line(f"≠ {value}"), style="bold red")
