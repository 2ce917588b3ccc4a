"""A corpus with known edges: citing articles, the works that they cite, and works that they do not cite.

1. A reference is used if its work is known and it has authors, journal and year. Its edge is true if the protocol counts it
   (the metadata of the work come from elsewhere) and its work's group is in the corpus: 8 of 10 groups, by their hash.
2. All other used references cite works outside the collection. Of those that the protocol does not count as many are used as
   make the share of true edges that of the cup: 421,578 of 960,000 references.
3. The collection has the citing articles, the works of true edges, and works that no used reference cites, drawn by their hash
   up to the number of papers of the cup.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Final

from benchmarks.kdd.latex import abstract, source
from reflink.entities import Reference, Work
from reflink.evaluation.records import KINDS, lines, read_works, reference_of

#: Papers, references and true edges of the cup.
PAPERS: Final = 35_866
_CITED: Final = 421_578 / 960_000
#: Papers with a Journal-ref, of those in arXiv's metadata: Table 4.1.
_JOURNAL: Final = 35_058 / 48_329
#: Share of the papers that were submitted in the year before they were printed. The paper states none.
_BEFORE: Final = 1 / 3
_KEPT: Final = 8


def share(*names: str) -> float:
    """Return a number from 0 to 1 that depends on the names alone."""
    return int.from_bytes(sha1("\0".join(names).encode()).digest()[:8], "big") / 2**64


@dataclass(slots=True)
class Used:
    """A reference of the corpus, and the group of its work; ``true``: the work is in the collection."""

    reference: Reference
    group: str
    true: bool


def used_references(path: Path, groups: dict[str, str], papers: int | None) -> dict[str, list[Used]]:
    """Return the used references by citing article, of articles with at least one true edge; at most ``papers`` of them."""
    counted: dict[str, list[Used]] = defaultdict(list)
    others: dict[str, list[Used]] = defaultdict(list)
    for _, data in lines(path):
        work = data.get("work")
        if not work or data.get("id_conflict") or not (data.get("last_names") and data.get("venue") and data.get("year")):
            continue
        group = groups.get(work, work)
        known = data.get("query") in KINDS
        kept = int(sha1(group.encode()).hexdigest()[-8:], 16) % 10 < _KEPT
        (counted if known else others)[data["citing"]].append(Used(reference_of(data), group, known and kept))
    chosen = sorted(name for name, found in counted.items() if any(each.true for each in found))
    chosen = sorted(sorted(chosen, key=lambda name: share("paper", name))[:papers])
    true = {each.group for name in chosen for each in counted[name] if each.true}
    total = sum(each.true for name in chosen for each in counted[name])
    wanted = max(0.0, total / _CITED - sum(len(counted[name]) for name in chosen))
    available = sum(len(others[name]) for name in chosen) or 1
    corpus: dict[str, list[Used]] = {}
    for name in chosen:
        # A reference outside must not cite the collection.
        outside = [
            each for each in others[name] if each.group not in true and share("outside", each.reference.id) < wanted / available
        ]
        corpus[name] = [*counted[name], *outside]
    return corpus


def write(works: Path, references: Path, folder: Path, *, papers: int | None, collection: int, seed: int) -> dict[str, int]:
    """Write ``papers/NUMBER``, ``abstracts/NUMBER.abs`` and ``edges`` into a folder, and return their counts."""
    listings = list(read_works(works))
    groups = {each.work.id: each.group for each in listings}
    corpus = used_references(references, groups, papers)
    true = {each.group for found in corpus.values() for each in found if each.true}
    cited = {each.group for found in corpus.values() for each in found}
    own = {each.work.ids.pmcid: each.work for each in listings if each.work.ids.pmcid in corpus}
    of_group: dict[str, Work] = {}
    spare: list[Work] = []
    articles = {groups[work.id] for work in own.values()}
    for each in listings:
        if each.group in true or each.group in articles:
            # Of several records of one work the first is the paper, also where another one is the article's own.
            of_group.setdefault(each.group, each.work)
        elif each.group not in cited and each.work.title and each.work.authors:
            spare.append(each.work)
    spare.sort(key=lambda work: share("candidate", work.id))
    chosen = [*of_group.values(), *spare[: max(0, collection - len(of_group))]]
    numbers = _numbers([*(work.id for work in chosen), *(name for name in corpus if name not in own)])
    (folder / "papers").mkdir(parents=True)
    (folder / "abstracts").mkdir()
    for work in chosen:
        year = work.year or 2000
        text = abstract(
            work, numbers[work.id], journal=share("journal", work.id) < _JOURNAL,
            submitted=year - (share("submitted", work.id) < _BEFORE),
        )  # fmt: skip
        (folder / "abstracts" / f"{numbers[work.id]}.abs").write_text(text)
    edges: set[tuple[str, str]] = set()
    count = 0
    for name, found in corpus.items():
        article = own.get(name)
        number = numbers[of_group[groups[article.id]].id if article else name]
        draw = random.Random(f"{seed}{name}")
        text = source(
            (article and article.title) or name, article.authors if article else (), [each.reference for each in found], draw
        )
        (folder / "papers" / f"{number}.tex").write_text(text)
        edges |= {(number, numbers[of_group[each.group].id]) for each in found if each.true}
        count += len(found)
    listed = "".join(f"{int(citing)}\t{int(cited_)}\n" for citing, cited_ in sorted(edges))
    (folder / "edges").write_text(f"# citing\tcited\n{listed}")
    return {"papers": len(corpus), "references": count, "collection": len(chosen), "edges": len(edges)}


def _numbers(names: list[str]) -> dict[str, str]:
    """Return a made arXiv number for each name: year and month from its hash, as 9907 and 0007, and three digits."""
    taken: dict[str, int] = defaultdict(int)
    found: dict[str, str] = {}
    for name in names:
        at = int(share("number", name) * 192)
        while taken[month := f"{(92 + at // 12) % 100:02d}{at % 12 + 1:02d}"] >= 999:
            at = (at + 1) % 192
        taken[month] += 1
        found[name] = f"{month}{taken[month]:03d}"
    return found
