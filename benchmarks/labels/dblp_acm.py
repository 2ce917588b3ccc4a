"""DBLP and ACM: records of database papers in two catalogs with the matching pairs; and the test pairs of Ditto."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

from benchmarks.labels.linking import Library, mistake, probability
from benchmarks.labels.report import Peer, Row, Table
from benchmarks.labels.scores import Answer, scores
from benchmarks.labels.wording import last_names, reference_of, unescaped, year_of
from reflink.entities import Reference, Work

#: Published figures of Ditto for the structured and the dirty set, as quoted.
PEERS: Final = (
    Peer("Ditto, structured", f1=0.9899, where="trained on 7,417 of its pairs"),
    Peer("Ditto, dirty", f1=0.9903, where="trained on 7,417 of its pairs"),
)
_FIELD: Final = re.compile(r"COL (\w+) VAL(.*?)(?=\bCOL \w+ VAL\b|$)", re.DOTALL)


def read(path: Path, kind: str) -> dict[str, tuple[Work, Reference]]:
    """Read the records of one side by row number: as a work, and as a citation of it."""
    with path.open(newline="", encoding="utf-8") as file:
        return {line["id"]: _sides(f"{kind}:{line['id']}", line) for line in csv.DictReader(file, delimiter="%")}


def _sides(id_: str, fields: dict[str, str]) -> tuple[Work, Reference]:
    found = {name: unescaped(value or "") for name, value in fields.items()}
    names = [name.strip() for name in found.get("authors", "").split(",") if name.strip()]
    work = Work(
        id=id_, title=found.get("title") or None, authors=last_names(names), venue=found.get("venue") or None,
        year=year_of(found.get("year")),
    )  # fmt: skip
    return work, reference_of(work, names)


def read_truth(path: Path) -> dict[str, str]:
    """Return DBLP's row numbers mapped to ACM's."""
    with path.open(newline="", encoding="utf-8") as file:
        return {line["D1"]: line["D2"] for line in csv.DictReader(file, delimiter="%")}


def serialised(text: str) -> dict[str, str]:
    """Serialise the fields of a record as Ditto does: "COL title VAL … COL year VAL …"."""
    return {name: value.strip() for name, value in _FIELD.findall(text)}


def read_pairs(path: Path) -> list[tuple[Reference, Work, bool]]:
    """Return Ditto's pairs: the left record as a reference, the right as a work, and whether they are the same."""
    pairs = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            left, right, label = line.rstrip("\n").split("\t")
            reference = _sides(f"left:{number}", serialised(left))[1]
            pairs.append((reference, _sides(f"right:{number}", serialised(right))[0], label == "1"))
    return pairs


def measure(data: Path, library: Library, limit: int | None = None) -> Table:
    """Return every figure of the set."""
    folder = data / "benchmarks" / "dblp_acm"
    rows = [linkage(folder, library, limit)]
    for kind in ("structured", "dirty"):
        pairs = read_pairs(folder / f"ditto_{kind}_test.txt.gz")[:limit]
        rows.append(decided(f"Ditto's test pairs, {kind}", pairs))
    return Table(name="dblp-acm", title="DBLP and ACM: database papers in two catalogs", rows=rows, peers=PEERS, notes=NOTES)


def linkage(folder: Path, library: Library, limit: int | None = None) -> Row:
    """Link every record of DBLP as a reference into a catalog of ACM's; records not named in gt.csv are absent."""
    cited, citing, truth = read(folder / "acm.csv", "acm"), read(folder / "dblp.csv", "dblp"), read_truth(folder / "gt.csv")
    catalog = library.catalog([work for work, _ in cited.values()])
    numbers = list(citing)[:limit]
    links = library.link([citing[number][1] for number in numbers], catalog, "DBLP into ACM")
    meant = [f"acm:{truth[number]}" if number in truth else None for number in numbers]
    given = [
        Answer(target is not None, link.cited is not None, target is not None and link.cited == target)
        for link, target in zip(links, meant, strict=True)
    ]
    wrong = [
        {**mistake(answer, link), "reference": f"dblp:{number}", "meant": target}
        for number, link, target, answer in zip(numbers, links, meant, given, strict=True)
        if not answer.right and (answer.linked or answer.present)
    ]
    return Row("DBLP linked into ACM", f"{len(catalog):,} works", scores(given), wrong)


def decided(task: str, pairs: Sequence[tuple[Reference, Work, bool]]) -> Row:
    """Decide each pair by the verdict at 0.5."""
    given, wrong = [], []
    for reference, work, same in track(pairs, task, console=Console(stderr=True)):
        sure = probability(reference, work)
        given.append(Answer(same, sure >= 0.5, same and sure >= 0.5))
        if same != (sure >= 0.5):
            wrong.append(
                {"kind": "missed" if same else "false", "pair": (reference.id, work.id), "probability": round(sure, 4)}
            )
    return Row(task, "judged at 0.5", scores(given), wrong)


NOTES: Final = (
    "Ditto's F1 is on the same test pairs and so comparable, but it was fine-tuned on this set's training pairs, with the "
    "threshold chosen on its validation pairs; reflink saw none of its labels, and its verdict was trained on citations in "
    "medicine and biology.",
    "Ditto's two figures are as its paper is quoted; its tables were not at hand to check them.",
    "'dirty' has fields moved into other fields, mostly the title; reflink does not move them back.",
    "The linkage has no blocking and no labels: the 392 of DBLP's records that have no pair among ACM's are absent.",
    "Records are compared as a citation and a work: the citation is one record's fields in a line.",
)  # fmt: skip
