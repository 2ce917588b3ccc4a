"""TitleMatch (paper 000, section 3.4): link a work of the same title. Of several, the work with the smallest id."""

from __future__ import annotations

from collections.abc import Sequence

from reflink.entities import Link, Reference, Work
from reflink.evaluation.rivals.rule import linked, normalised, not_linked, title_of
from reflink.lexical.titles import TitleMatch


class EqualTitles:
    """The rule over the works of one catalog."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._titles = TitleMatch()
        self._titles.add([work.id for work in works], [normalised(work.title) for work in works])

    def link(self, references: Sequence[Reference]) -> list[Link]:
        """Return a link for each reference, in order."""
        titles = [normalised(title_of(reference)) for reference in references]
        return [
            not_linked(reference, title, "no-candidate") if cited is None else linked(reference, cited, 1.0)
            for reference, title, cited in zip(references, titles, self._titles.link(titles), strict=True)
        ]
