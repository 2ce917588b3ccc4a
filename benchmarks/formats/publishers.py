"""Time the formats of metadata and publishers on the real samples, and count the fields that they fill.

    python -m benchmarks.formats.publishers --json publishers.json
    python -m benchmarks.formats.publishers --ads FOLDER

``--ads``: a folder with ``adsrefpipe/tests/unittests/stubdata/parsed_references.py`` of adsabs/ADSReferencePipeline (MIT). Each
record has a reference in the mark-up of its publisher (``refraw``), and the fields that the Astrophysics Data System reads. Our
fields are compared with these, without case, accents and punctuation; differences go to standard error.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import re
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from reflink.entities import Reference
from reflink.errors import ReflinkError
from reflink.formats import Content, Options, format_of, parse
from reflink.limits import Limits
from tests.data import shared_data

FORMATS = (
    "crossref", "crossref-xml", "pubmed", "csl", "bibtex", "ris", "elsevier", "springer", "wiley", "nature", "rsc", "iop",
    "references",
)  # fmt: skip
FOLDERS = ("crossref", "csl", "elsevier", "springer_aplusplus", "publisher_refs", "latex")
FIELDS = ("title", "last_names", "venue", "year", "volume", "first_page", "ids")
#: Number of articles of PubMed.
ARTICLES = 200
#: Seconds in which the samples of a format are read again and again.
SECONDS = 2.0
#: What stands around a reference in the publishers' lists, as the records of the Astrophysics Data System leave it out.
AROUND = ("{}", '<bib id="b1">{}</bib>', "<ref>{}</ref>", '<reference content_type="text">{}</reference>')
#: Their names of fields, and ours.
NAMES = {"title": "title", "journal": "venue", "volume": "volume", "page": "first_page", "year": "year", "doi": "doi"}
_WORDS = re.compile(r"[^a-z0-9]+")


def main() -> None:
    made = harness.parser(__doc__)
    made.add_argument("--ads", type=Path, metavar="FOLDER", help="compare with the fields of the Astrophysics Data System")
    options: argparse.Namespace = made.parse_args()
    figures: dict[str, Any] = compared(options.ads) if options.ads else dict(timed())
    harness.save(options.json, figures)


def timed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the figures of each format with samples: papers and references a second of CPU, without and with inference."""
    samples: dict[str, list[Content]] = defaultdict(list)
    for path in (each for folder in FOLDERS for each in sorted((shared_data() / "sources" / folder).rglob("*"))):
        if path.is_file():
            try:
                samples[format_of(Content(path.read_bytes(), path.stem)).name].append(Content(path.read_bytes(), path.stem))
            except ReflinkError:
                continue
    samples["pubmed"] = [pubmed()]
    print(f"{'format':14}{'files':>6}{'papers':>8}{'refs':>7}{'MB/s':>7}{'papers/s':>10}{'refs/s':>9}{'inferring':>11}  filled")
    for name in FORMATS:
        contents = [each for each in samples[name] if read(each, infer=False)]
        if not contents:
            continue
        papers = [paper for each in contents for paper in read(each, infer=False)]
        references = [reference for paper in papers for reference in paper]
        size = sum(len(each.data) for each in contents)
        plain, inferring = seconds(contents, infer=False), seconds(contents, infer=True)
        filled = {field: sum(has(each, field) for each in references) / max(len(references), 1) for field in FIELDS}
        row = {
            "files": len(contents), "papers": len(papers), "references": len(references), "bytes": size,
            "papers_per_second": len(papers) / plain, "references_per_second": len(references) / plain,
            "papers_per_second_inferring": len(papers) / inferring, "filled": filled,
        }  # fmt: skip
        print(
            f"{name:14}{len(contents):6}{len(papers):8}{len(references):7}{size / plain / 1e6:7.1f}{len(papers) / plain:10.0f}"
            f"{len(references) / plain:9.0f}{len(papers) / inferring:11.0f}  "
            + " ".join(f"{field} {share:.0%}" for field, share in filled.items())
        )
        yield name, row


def pubmed() -> Content:
    """Return the first articles of a shared file of PubMed."""
    with gzip.open(shared_data() / "medline" / "pubmed21n1298_first2500.xml.gz") as file:
        whole = file.read()
    end = b"</PubmedArticle>"
    return Content(end.join(whole.split(end, ARTICLES)[:ARTICLES]) + end + b"</PubmedArticleSet>", "pubmed")


def read(content: Content, *, infer: bool) -> list[tuple[Reference, ...]]:
    """Return the references of each paper; nothing for content that is refused."""
    try:
        fresh = Content(content.data, content.source)  # so that its JSON is parsed again
        return [each.paper.references for each in parse(fresh, options=Options(Limits(references=10**6), infer=infer))]
    except ReflinkError:
        return []


def seconds(contents: list[Content], *, infer: bool) -> float:
    """Return the seconds of CPU of one pass."""
    start, passes = time.process_time(), 0
    while time.process_time() - start < SECONDS:
        for each in contents:
            read(each, infer=infer)
        passes += 1
    return (time.process_time() - start) / passes


def has(reference: Reference, field: str) -> bool:
    if field == "ids":
        return bool(reference.ids.keys() or reference.ids_weak.keys())
    if field == "last_names":
        return bool(reference.last_names or reference.collectives)
    return getattr(reference, field) is not None


def compared(folder: Path) -> dict[str, Any]:
    """Print and return, for each of their lists in XML, the share of their fields that ours equal."""
    (file,) = folder.rglob("parsed_references.py")
    figures: dict[str, Any] = {}
    for name, records in lists(file):
        counts: Counter[str] = Counter()
        for record in records:
            raw = record.get("refraw") or ""
            if not raw.lstrip().startswith("<"):
                continue
            counts["records"] += 1
            ours = next((found for around in AROUND if (found := one(around.format(raw)))), None)
            if ours is None:
                counts["unread"] += 1
                continue
            for field, equal in differences(record, ours, name):
                counts[f"{field} stated"] += 1
                counts[f"{field} equal"] += equal
        if counts["records"]:
            figures[name] = dict(counts)
            print(f"{name:22}{counts['records']:5} records{counts['unread']:5} unread  ", end="")
            shown = [field for field in (*NAMES, "authors") if counts[f"{field} stated"]]
            print(" ".join(f"{field} {counts[f'{field} equal']}/{counts[f'{field} stated']}" for field in shown))
    return figures


def lists(file: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield name and records of each list of the module, without running it."""
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                blocks = ast.literal_eval(statement.value)
            except ValueError:
                continue
            if isinstance(blocks, list):
                yield (
                    statement.targets[0].id,
                    [each for block in blocks if isinstance(block, dict) for each in block.get("references", ())],
                )


def one(xml: str) -> Reference | None:
    papers = read(Content(xml.replace("xmlid=", "xml:id=").encode()), infer=False)
    return papers[0][0] if papers and papers[0] else None


def differences(record: dict[str, Any], ours: Reference, name: str) -> Iterator[tuple[str, bool]]:
    """Yield each field that they state, and whether ours is equal."""
    for theirs, field in NAMES.items():
        if value := record.get(theirs):
            own = (ours.ids.doi or ours.ids_weak.doi) if field == "doi" else getattr(ours, field)
            equal = plain(str(own or "")) == plain(str(value)) or (field == "venue" and plain(ours.title or "") == plain(value))
            if not equal:
                print(f"  {name}: {theirs}: {value!r}, ours {own!r}: {record['refraw'][:200]!r}", file=sys.stderr)
            yield theirs, equal
    if value := record.get("authors"):
        own = " ".join((*ours.last_names, *ours.collectives, *ours.editors))
        yield "authors", all(word in plain(value) for word in plain(own).split()) and bool(own)


def plain(text: str) -> str:
    """Return the words of a text without case, accents and punctuation."""
    folded = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return _WORDS.sub(" ", folded).strip()


if __name__ == "__main__":
    main()
