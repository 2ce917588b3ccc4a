"""Filter of change propagation: the verdict rules out references that share only a key with a changed work.

Keys are cheap and coarse: of a hundred references that they find, few cite the work. The linker needs an encoding and a search
to find that out; the verdict compares only the two records, at a fraction of the cost. It assumes the default share of absent
works, so its probability is compared only with a low minimum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reflink.blocking.keys import hashed, work_key
from reflink.entities import Work
from reflink.linking.policy import Policy
from reflink.verdict.batch import compare_all
from reflink.verdict.judge import shipped
from schemas import LinkEvent
from workers.ledger.stores.change_log import Change

_ABSENT = Policy().absent


class _AnyJournal:
    """A table in which all names mean one journal: a linker's table, which the ledger lacks, may join any two."""

    def are_one(self, *names: object) -> bool:
        return True


ANY_JOURNAL = _AnyJournal()


def likely(links: Sequence[LinkEvent], change: Change, work: Work | None, min_probability: float) -> list[bool]:
    """Return for each link whether its reference must be re-evaluated, given the new state of ``work`` (None: removed).

    Always true if the work was removed, or if the reference cites a work that the change concerns, carries an identifier of
    the work, has an override, was linked without a probability (profile ``paper``), or has an outcome that depends on several
    works (``ambiguous``, ``other-version``): a rival or version that no longer fits changes it too. Otherwise true if the
    verdict's probability is at least ``min_probability``.
    """
    concerned = frozenset(change.keys)
    found = [work is None or min_probability <= 0.0 or _is_bound(link, work, concerned) for link in links]
    open_ = [row for row, is_bound in enumerate(found) if not is_bound]
    if work is not None and open_:
        pairs = np.array([(row, 0) for row in range(len(open_))], np.int64)
        evidence = compare_all([links[row].reference for row in open_], [work], pairs, journals=ANY_JOURNAL)
        probabilities = shipped().probabilities(evidence, _ABSENT).tolist()
        for row, probability in zip(open_, probabilities, strict=True):
            found[row] = probability >= min_probability
    return found


def _key(work_id: str) -> bytes:
    return hashed(work_key(work_id))


def _is_bound(link: LinkEvent, work: Work, concerned: frozenset[bytes]) -> bool:
    cited = link.link.cited
    if cited is not None and (link.link.probability is None or not concerned.isdisjoint(map(_key, (cited, *link.aliases)))):
        return True
    if link.link.unresolved in ("ambiguous", "other-version"):
        return True
    reference = link.reference
    carried = {*reference.ids.keys(), *reference.ids_weak.keys()}
    return link.curated is not None or work.id in carried or not carried.isdisjoint(work.ids.keys())
