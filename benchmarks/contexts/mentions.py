"""Count the mentions of the real articles and their contexts, compare the ranges with a plain reading, and time both.

    python -m benchmarks.contexts.mentions --json contexts.json
    python -m benchmarks.contexts.mentions --show 100     prints that many random ranges with what they were expanded to

The plain reading of ranges does not use the engine: in the source of each paragraph it replaces links by their text, searches
for "3–5" and looks up the numbers among the printed labels of the bibliography.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from benchmarks import harness
from reflink.contexts import CitationContext, contexts_of
from reflink.entities import Paper
from reflink.errors import ReflinkError
from reflink.formats import Content, Options, Parsed, parse
from tests.data import jats_folder

_BARE = re.compile(r"[\s\[\]()⟦⟧]+")
_NUMBER = re.compile(r"\d{1,4}")
_LINK_RANGE = re.compile(r"⟦(\d{1,4})⟧[\])\s]*(?:⟦⟧)*[-‐‑–—−]+[\[(\s]*(?:⟦⟧|⟦[-‐‑–—−]⟧)*⟦(\d{1,4})⟧")
_INNER_RANGE = re.compile(r"⟦[^⟦⟧]*?(?<!\d)(\d{1,4})\s?[-‐‑–—−]\s?(\d{1,4})(?!\d)[^⟦⟧]*⟧")


def articles() -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the real articles."""
    for path in sorted(jats_folder().glob("*.xml")):
        yield path.stem, path.read_bytes()


def read(data: bytes, *, text: bool) -> Parsed | None:
    """Return the article, without inference; None if it cannot be read."""
    try:
        return parse(Content(data, "paper"), options=Options(infer=False, text=text))[0]
    except ReflinkError:
        return None


def plain_ranges(data: bytes) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each range as printed, with the text before it and its XML ids; of papers with numbered labels."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(data, parser)
    labels: dict[int, str] = {}
    for ref in root.iter("{*}ref"):
        found = _NUMBER.findall("".join(ref.find("{*}label").itertext())) if ref.find("{*}label") is not None else []
        if len(found) == 1 and ref.get("id"):
            labels.setdefault(int(found[0]), str(ref.get("id")))
    for paragraph in root.iter("{*}p", "{*}td"):
        text = _marked(paragraph)
        for pattern in (_LINK_RANGE, _INNER_RANGE):
            for found in pattern.finditer(text):
                first, last = int(found[1]), int(found[2])
                if first < last <= max(labels, default=0) and all(number in labels for number in range(first, last + 1)):
                    printed = _BARE.sub("", found[0])
                    yield printed, text[max(0, found.start() - 30) : found.end()], [labels[n] for n in range(first, last + 1)]


def _marked(element: Any) -> str:
    """Return the text of an element with its links to references as ``⟦text⟧``."""
    text = element.text or ""
    for child in element:
        inner = _marked(child) if isinstance(child.tag, str) else ""
        if str(child.tag).rpartition("}")[2] == "xref" and child.get("ref-type") == "bibr":
            inner = f"⟦{inner.strip(' []()')}⟧"
        text += inner + (child.tail or "")
    return text


def sentences_of(paper: Paper, contexts: dict[str, tuple[CitationContext, ...]]) -> dict[str, set[str]]:
    """Return the sentences that cite each entry, without white space and brackets."""
    found: dict[str, set[str]] = {}
    for reference in paper.references:
        if reference.xml_id and reference.id.endswith(".1"):
            found[reference.xml_id] = {_BARE.sub("", each.sentence) for each in contexts[reference.id]}
    return found


def ranges_of(contexts: dict[str, tuple[CitationContext, ...]]) -> Counter[tuple[int, int]]:
    """Return the number of references that each range or list implies, by paragraph and start of its first marker."""
    implied = (each for found in contexts.values() for each in found if each.implied and each.start < each.stop)
    return Counter((each.paragraph, each.start) for each in implied)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = harness.parser(__doc__)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N random ranges of the plain reading")
    arguments = parser.parse_args(argv)
    count: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    shown: list[tuple[str, str, list[str], bool]] = []
    given = list(articles())
    read(given[0][1], text=True)  # compiles the kernels
    for name, data in given:
        started = time.perf_counter()
        bare = read(data, text=False)
        seconds["parsing"] += time.perf_counter() - started
        started = time.perf_counter()
        parsed = read(data, text=True)
        seconds["parsing with text"] += time.perf_counter() - started
        if bare is None or parsed is None:
            continue
        started = time.perf_counter()
        contexts = contexts_of(parsed.paper, parsed.paragraphs)
        seconds["contexts"] += time.perf_counter() - started
        entries = {reference.xml_id for reference in parsed.paper.references}
        mentions = [(each.part, one) for each in parsed.paragraphs for one in each.mentions]
        parts.update(part for part, _ in mentions)
        count["papers"] += 1
        count["references"] += len(contexts)
        count["paragraphs"] += len(parsed.paragraphs)
        count["mentions"] += len(mentions)
        count["mentions of no entry"] += sum(entries.isdisjoint(one.entries) for _, one in mentions)
        count["contexts"] += sum(map(len, contexts.values()))
        count["implied"] += sum(each.implied for found in contexts.values() for each in found)
        count["references with a context"] += sum(bool(found) for found in contexts.values())
        count["ranges and lists with implied references"] += len(ranges_of(contexts))
        count["most contexts of a reference"] = max(count["most contexts of a reference"], *map(len, contexts.values()), 0)
        citing = sentences_of(parsed.paper, contexts)
        for printed, text, wanted in plain_ranges(data):
            right = all(any(printed in each for each in citing[entry]) for entry in wanted if entry in citing)
            count["ranges of the plain reading"] += 1
            count["of which the sentence cites all references"] += right
            shown.append((name, text, wanted, right))
    rates = {f"papers/s, {what}": round(count["papers"] / each, 1) for what, each in seconds.items()}
    for what, figure in (*count.items(), *((f"mentions in {part}", number) for part, number in parts.items()), *rates.items()):
        print(f"{figure:>12,}  {what}")
    for name, text, wanted, right in random.Random(1).sample(shown, min(arguments.show, len(shown))):
        print(name, "ok " if right else "WRONG", repr(text), wanted[0], "…", wanted[-1], len(wanted))
    for name, text, wanted, right in shown:
        if not right and arguments.show:
            print("missing", name, repr(text), wanted)
    harness.save(arguments.json, {"counts": dict(count), "parts": dict(parts), "rates": rates})


if __name__ == "__main__":
    main()
