"""Measure how citations of several works are divided.

    python -m benchmarks.parsing.several --json several.json
    python -m benchmarks.parsing.several --show

1. Entries of the articles in which the publisher tagged each of several works: their texts, as printed, joined again.
2. Two successive citations of an article, with marks between their numbers, joined by a semicolon, or lettered.
3. All strings of the articles, PubMed's lists, unarXive, AnyStyle, grobid and biblio-glutton: the number that is divided.
   Nearly all cite one work; ``--show`` prints the divided ones for review.
"""

from __future__ import annotations

import gzip
import json
import re
import tarfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from lxml import etree

from benchmarks import harness
from benchmarks.papers import real_papers
from reflink.entities import Reference
from reflink.recognition.several import divide
from reflink.stripping import strip
from tests.data import shared_data

#: One of so many pairs of successive citations is joined.
EVERY = 10
_MARKS = " .,;"
#: A mark after a number; tagged records without printed punctuation have none.
_PRINTED = re.compile(r"\d\)?[,;:]")
#: A letter or number before a citation.
_LABEL = re.compile(r"^(?:\(?[a-z]\)|\d{1,3}\.)\s")


def parts(text: str) -> list[str]:
    """Return the texts of the works that ``text`` is divided into; the whole text if it is not divided."""
    return [text[part.start : part.stop].strip(_MARKS) for part in divide(text)] or [text.strip(_MARKS)]


def entries(references: list[Reference]) -> Iterator[list[str]]:
    """Yield the texts of entries in which the publisher tagged several works, without letters."""
    by_entry: dict[str, list[Reference]] = defaultdict(list)
    for reference in references:
        by_entry[reference.id.rpartition(".")[0]].append(reference)
    for works in by_entry.values():
        if len(works) > 1 and all(work.inferred is None for work in works):
            yield [work.raw_query for work in works]


def is_right(text: str, works: list[str]) -> bool:
    """Return whether ``text`` is divided into exactly these works, apart from letters and marks at their ends."""
    return parts(text) == [_LABEL.sub("", work).strip(_MARKS) for work in works]


def joined(references: list[Reference]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (kind, text, works) of successive citations joined by a semicolon, and lettered."""
    for first, second in list(pairwise(references))[::EVERY]:
        works = [_LABEL.sub("", reference.raw_query) for reference in (first, second)]
        if all(len(work) <= 600 and _PRINTED.search(work) for work in works) and works[0] != works[1]:
            kind = "titled" if first.title and second.title else "journal only" if first.venue and first.volume else "other"
            yield f"semicolon, {kind}", "; ".join(work.rstrip(_MARKS) for work in works), works
            yield f"letters, {kind}", f"(a) {works[0].rstrip(_MARKS)}; (b) {works[1]}", works


def strings() -> Iterator[tuple[str, str]]:
    """Yield (source, text) of the strings of all sets."""
    data = shared_data()
    with gzip.open(data / "references_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield "articles", record.get("raw_noid") or record.get("raw_text") or ""
    with gzip.open(data / "pubmed" / "references_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from (("PubMed", json.loads(line)["raw"]) for line in lines)
    with tarfile.open(data / "benchmarks" / "unarxive" / "unarXive_data_sample.tar.gz") as tar:
        for member in tar:
            if member.name.endswith(".jsonl") and (file := tar.extractfile(member)):
                for paper in map(json.loads, file):
                    yield from (("unarXive", entry["bib_entry_raw"]) for entry in paper.get("bib_entries", {}).values())
    with gzip.open(data / "benchmarks" / "anystyle" / "core.xml.gz") as content:
        for sequence in etree.parse(content).getroot():
            yield "AnyStyle", " ".join("".join(child.itertext()) for child in sequence)
    with tarfile.open(data / "benchmarks" / "grobid_citation" / "citation_corpus.tar.gz") as tar:
        for member in tar:
            if member.name.endswith(".xml") and (file := tar.extractfile(member)):
                root = etree.fromstring(file.read(), etree.XMLParser(recover=True))
                yield from (("grobid", "".join(each.itertext())) for each in root.iter("{*}bibl"))
    with gzip.open(data / "benchmarks" / "biblio_glutton" / "references-doi-matching.json.gz") as content:
        yield from (("biblio-glutton", record["reference"]) for record in json.load(content))


def main() -> None:
    """Print the measurements, or write them as JSON."""
    parser = harness.parser(__doc__)
    parser.add_argument("--show", action="store_true", help="print divided strings and failures")
    args = parser.parse_args()
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"texts": 0, "right": 0, "undivided": 0, "wrong": 0})
    for _, _, references in real_papers():
        cases = [("tagged by the publisher", " ".join(works), works) for works in entries(list(references))]
        for name, text, works in (*cases, *joined(list(references))):
            found = "right" if is_right(text, works) else "undivided" if len(parts(text)) == 1 else "wrong"
            counts[name]["texts"] += 1
            counts[name][found] += 1
            if args.show and (found == "wrong" or (found == "undivided" and name == "tagged by the publisher")):
                print(name, found, text, parts(text), sep="\n  ")
    single: dict[str, dict[str, int]] = defaultdict(lambda: {"strings": 0, "divided": 0})
    started = time.process_time()
    shown: set[str] = set()
    for source, raw in strings():
        text = strip(raw)
        single[source]["strings"] += 1
        if len(found_parts := parts(text)) > 1:
            single[source]["divided"] += 1
            if args.show and text not in shown:
                shown.add(text)
                print(source, text, *found_parts, sep="\n  ")
    seconds = time.process_time() - started
    report = {"joined": counts, "strings": single, "seconds": round(seconds, 1)}
    print(json.dumps(report, indent=1))
    harness.save(args.json, report)


if __name__ == "__main__":
    main()
