"""From what a format states of a paper to `reflink.entities.Paper`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from reflink.bibliography.cleaning import cleaned
from reflink.bibliography.references import MAX_INFERRED, Entry, references
from reflink.entities import Paper
from reflink.identifiers import NO_IDS
from reflink.limits import Limits
from reflink.workids import work_id


def paper(
    fields: Mapping[str, Any],
    entries: Iterable[Entry],
    *,
    own_name: str,
    source: str | None,
    limits: Limits,
    infer: bool = True,
    warnings: tuple[str, ...] = (),
) -> Paper:
    """Return the paper with its references.

    ``fields``: of `Paper`, without ``id`` and ``references``. ``own_name``: the paper's id if it has no identifier (see
    `own_name`). ``source``: its name in errors, by default its id. ``infer``: recognise the fields of untagged citations
    (`reflink.entities.Inferred`). Raises TooLarge beyond ``limits.references``.
    """
    fields = cleaned(fields)
    ids = fields.get("ids", NO_IDS)
    citing = work_id(ids, None if ids.keys() else own_name)
    cited, unread = references(entries, citing, source or citing, limits, infer=infer)
    if unread:
        limit = f"its citations without tags have more than {MAX_INFERRED:,} characters"
        warnings += (f"the fields of {unread:,} citations were not recognised: {limit}",)
    return Paper.model_construct(id=citing, references=cited, unread=unread, warnings=warnings, **fields)


def own_name(data: bytes, source: str | None, stated: str | None = None) -> str:
    """Return the name of a paper without identifiers: its source, the name that it states, or a digest of its bytes."""
    return (source or "").strip() or stated or "sha256:" + hashlib.sha256(data).hexdigest()[:32]
