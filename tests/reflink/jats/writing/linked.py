"""Links for tests of writing, and the laws that a document with links obeys."""

from __future__ import annotations

import re
from random import Random

from reflink.entities import ID_KINDS, Ids, Link, Paper, Reference, Work
from reflink.jats import parse_all, with_links

Links = dict[str, tuple[Link, Work | None]]
#: Fields that identifiers in a citation may change.
_OF_TEXT = {"raw_text", "raw_noid", "ids", "ids_weak"}


def link(reference: Reference, work: str = "w1", probability: float | None = 0.987, **ids: str) -> tuple[Link, Work]:
    """Return the link of a reference to a work with these identifiers."""
    made = Work(id=work, ids=Ids(**ids))
    return Link(reference=reference.id, citing=reference.citing, cited=work, probability=probability), made


def papers(data: bytes) -> list[Paper]:
    return [paper for paper, _ in parse_all(data, source="x", infer=False)]


def made_links(found: list[Paper], rng: Random) -> Links:
    """Return a link for each reference, to a work with the identifiers that the reference states, and others."""
    links: Links = {}
    for paper in found:
        for reference in paper.references:
            made = {
                "doi": f"10.5555/made.{rng.randrange(10**6)}", "pmid": str(rng.randrange(10**6, 10**7)),
                "pmcid": f"PMC{rng.randrange(10**4, 10**6)}", "arxiv": f"2101.{rng.randrange(10**4, 10**5)}",
            }  # fmt: skip
            stated = {kind: getattr(reference.ids, kind) or getattr(reference.ids_weak, kind) for kind in ID_KINDS}
            ids = {kind: stated[kind] or made[kind] for kind in ID_KINDS if stated[kind] or rng.random() < 0.4}
            work = next((f"{kind}:{ids[kind]}" for kind in ID_KINDS if kind in ids), f"openalex:W{rng.randrange(10**9)}")
            links[reference.id] = link(reference, work, rng.choice((None, rng.random())), **ids)
    return links


def assert_laws(data: bytes, links: Links) -> int:
    """Assert the laws of writing, and return the number of references that have all identifiers of their works.

    The result is the original with insertions. It reads as the original with the identifiers of the works. Writing it again
    changes nothing.
    """
    written = with_links(data, links, source="x")
    rest = iter(written)
    assert all(byte in rest for byte in data)
    assert with_links(written, links, source="x") == written
    before, after = papers(data), papers(written)
    own = [[paper.model_dump(exclude={"references", "warnings"}) for paper in found] for found in (before, after)]
    assert own[0] == own[1]
    complete = 0
    for old, new in zip(_references(before), _references(after), strict=True):
        assert new.model_dump(exclude=_OF_TEXT) == old.model_dump(exclude=_OF_TEXT)
        work = links[old.id][1] if old.id in links else None
        allowed = {} if work is None else work.ids.to_dict()
        added = {kind: value for kind, value in new.ids.to_dict().items() if getattr(old.ids, kind) is None}
        assert new.ids.to_dict().items() >= old.ids.to_dict().items()
        assert added.items() <= allowed.items()
        assert _words(new.raw_query) == _words(old.raw_query)
        complete += new.ids.to_dict().items() >= allowed.items()
    return complete


def _words(text: str) -> list[str]:
    """Return the words of a text without the labels of identifiers, which are removed with them."""
    return [word for word in re.findall(r"\w+", text) if word.lower() not in ("pmid", "doi")]


def _references(found: list[Paper]) -> list[Reference]:
    return [reference for paper in found for reference in paper.references]
