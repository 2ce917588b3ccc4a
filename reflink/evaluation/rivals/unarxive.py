"""unarXive's reference resolution (paper 003, section 3.4): equal titles, an author's name in the reference, citation counts.

The title of the cited work is that of the work with the reference's arXiv id or DOI, else the title in the reference. Of the
works with the same normalised title, candidates are those of which an author's name is in the reference as written. Of several
candidates the most cited is linked.

The publication does not define its normalisation. Titles are equal here if they have the same letters and digits
(`reflink.folding.compact`), which was chosen among four ways on the papers with an odd sha1, by recall. Names match as whole
words; names in Chinese or Japanese characters match anywhere, because no spaces divide these words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from reflink.entities import Ids, Link, Reference, Work
from reflink.evaluation.rivals.rule import linked, not_linked, title_of
from reflink.folding import compact, fold

#: The identifiers that the publication uses, in its order.
_KINDS: Final = ("arxiv", "doi")
#: Characters of scripts without spaces between words: kana and Han.
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


class TitleAndAuthor:
    """The rule over the works of one catalog.

    ``citing``: the papers that cite a work, by the work's id. A reference's own paper does not count among them, because its
    citation of the work is what the rule has to find.
    """

    def __init__(self, works: Sequence[Work], citing: Mapping[str, Collection[str]]) -> None:
        self._citing = citing
        self._authors = {work.id: [_sought(name) for name in map(fold, work.authors) if name] for work in works}
        self._by_identifier = {key: work.id for work in works for key in _keys(work.ids)}
        self._titles: dict[str, list[str]] = defaultdict(list)
        for work in works:
            if title := compact(work.title or ""):
                self._titles[title].append(work.id)

    def link(self, references: Sequence[Reference]) -> list[Link]:
        """Return a link for each reference, in order.

        An identifier links to the work that bears it; the publication matches the title of this work again.
        """
        return [self._link(reference) for reference in references]

    def _link(self, reference: Reference) -> Link:
        for key in (*_keys(reference.ids), *_keys(reference.ids_weak)):
            if (known := self._by_identifier.get(key)) is not None:
                return linked(reference, known, 1.0, "identifier")
        title = compact(title_of(reference))
        written = f" {fold(reference.raw_query)} "
        candidates = [id_ for id_ in self._titles.get(title, ()) if any(name in written for name in self._authors[id_])]
        if not candidates:
            return not_linked(reference, title, "no-candidate")
        return linked(reference, min(candidates, key=lambda id_: (-self._citations(id_, reference.citing), id_)), 1.0)

    def _citations(self, work: str, but: str) -> int:
        papers = self._citing.get(work, ())
        return len(papers) - (but in papers)


def _sought(name: str) -> str:
    return name if _UNSPACED.search(name) else f" {name} "


def _keys(ids: Ids) -> list[str]:
    return [f"{kind}:{value}" for kind in _KINDS if (value := getattr(ids, kind))]
