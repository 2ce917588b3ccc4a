"""Whom a changed work may answer, among the references that have a key in common with it: the verdict on the pair.

Keys are cheap and coarse: of a hundred references that they find, few cite the work. The linker would find that out with an
encoding and a search; the verdict, which looks at nothing but the two records, says it at a fraction of the cost. It judges
with the default share of absent works, so its probability is asked to be above a low floor only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reflink.entities import Work
from reflink.keys import hashed, work_key
from reflink.policy import Policy
from reflink.verdict.batch import compare_all
from reflink.verdict.judge import shipped
from schemas import LinkEvent
from workers.ledger.worktable import Change

_ABSENT = Policy().absent


def likely(links: Sequence[LinkEvent], change: Change, work: Work | None, floor: float) -> list[bool]:
    """Whether each reference is to be judged again, with ``work`` as it now is (None: it is gone).

    Always where it cites a work that the change concerns, carries an identifier of the work, stands under an override, or was
    linked without a probability (profile ``paper``); else from a probability of ``floor`` on.
    """
    concerned = frozenset(change.keys)
    found = [work is None or floor <= 0.0 or _is_bound(link, work, concerned) for link in links]
    open_ = [row for row, is_bound in enumerate(found) if not is_bound]
    if work is not None and open_:
        pairs = np.array([(row, 0) for row in range(len(open_))], np.int64)
        evidence = compare_all([links[row].reference for row in open_], [work], pairs)
        probabilities = shipped().probabilities(evidence, _ABSENT).tolist()
        for row, probability in zip(open_, probabilities, strict=True):
            found[row] = probability >= floor
    return found


def _is_bound(link: LinkEvent, work: Work, concerned: frozenset[bytes]) -> bool:
    cited = link.link.cited
    if cited is not None and (link.link.probability is None or hashed(work_key(cited)) in concerned):
        return True
    reference = link.reference
    carried = {*reference.ids.keys(), *reference.ids_weak.keys()}
    return link.curated is not None or work.id in carried or not carried.isdisjoint(work.ids.keys())
