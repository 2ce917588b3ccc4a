"""PubMed's reference lists: 85,218 citations as mere text with an id, 62% of them journal, date, volume and pages alone.

They are linked into the works of the shared data together with PubMed's records. Most cited works are absent, as in any catalog
of this size; then absent citations are left out until 80% are present. No vector is needed, because the linker searches only
titles by vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.labels.report import Row, Table
from benchmarks.labels.scores import Answer, scores
from reflink.evaluation.contents import CONTENTS
from reflink.evaluation.judges import HeldOut
from reflink.evaluation.natural import link_lists
from reflink.evaluation.outcomes import Mistake, Outcome
from reflink.evaluation.records import read_works
from reflink.linking.policy import Policy

#: Worlds: their names, and the share of citations whose work is present; None is the natural one.
WORLDS: Final = {"text alone, natural absence": None, "text alone, 80% present": 0.8}
PARTS: Final = {
    "title": "with a title",
    "names": "with names, without title",
    "neither": "journal, date, volume and pages alone",
}
NOTES: Final = (
    "Present: the catalog has a work with the pmid or doi that PubMed gives for the citation. A link of an absent citation is "
    "false if the linked work has an identifier of the same kind; links to works without one are left out.",
    "The probabilities assume that half of the works are absent, as by default.",
    "The verdict was trained on these lists; each citation is judged by the model that was not trained on its citing paper.",
)


def measure(data: Path, cache: Path) -> Table:
    """Return the figures of each world, by what the citations have. ``data``: the folder with works.jsonl.gz and pubmed/."""
    listings, rows = list(read_works(data / "works.jsonl.gz")), []
    for name, present in WORLDS.items():
        found = link_lists(data / "pubmed", listings, Policy(), HeldOut.shipped(), cache, present)
        rows.append(_row(name, "all", found.outcomes, found.mistakes))
        for contents in CONTENTS:
            part = [each for each in found.outcomes if each.contents == contents]
            wrong = [each for each in found.mistakes if each.outcome.contents == contents]
            rows.append(_row(name, PARTS[contents], part, wrong))
    return Table(name="pubmed", title="PubMed: citations as mere text", peers=(), notes=NOTES, rows=rows)


def _row(name: str, part: str, outcomes: Iterable[Outcome], mistakes: Sequence[Mistake]) -> Row:
    answers = [Answer(each.present, each.link.cited is not None, each.right) for each in outcomes]
    wrong = [
        {"kind": each.outcome.error, "reference": each.outcome.rid, "meant": each.outcome.truth, "cited": each.outcome.chosen}
        for each in mistakes
    ]
    return Row(name, part, scores(answers), wrong)
