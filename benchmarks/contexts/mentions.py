"""Count the mentions of the real articles and their contexts, compare the ranges with a plain reading, and time both.

    python -m benchmarks.contexts.mentions --json contexts.json
    python -m benchmarks.contexts.mentions --show 100     prints that many random ranges with what they were expanded to

Two plain readings of the XML do not use the engine. One lists each ``xref`` of type bibr with its entries and its text. The
other searches for ranges: in the source of each paragraph it replaces links by their text, searches for "3–5" and looks up the
numbers among the printed labels of the bibliography.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter, defaultdict
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


def read(data: bytes, *, text: bool) -> Sequence[Parsed]:
    """Return the article and its parts that are papers, without inference; nothing if it cannot be read."""
    try:
        return parse(Content(data, "paper"), options=Options(infer=False, text=text))
    except ReflinkError:
        return ()


def tree(data: bytes) -> etree._Element:
    """Return the XML of an article for the plain readings."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, huge_tree=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def plain_mentions(root: etree._Element) -> Counter[tuple[tuple[str, ...], str]]:
    """Count the ``xref`` of type bibr by the entries that they name and by their text without white space."""
    found = (item for item in root.iter("{*}xref") if item.get("ref-type") == "bibr")
    return Counter((tuple(item.get("rid", "").split()), "".join("".join(item.itertext()).split())) for item in found)


def mentions_of(parsed: Parsed) -> Counter[tuple[tuple[str, ...], str]]:
    """Count the mentions of a paper in the same way."""
    found = ((one.entries, each.text[one.start : one.stop]) for each in parsed.paragraphs for one in each.mentions)
    return Counter((entries, "".join(text.split())) for entries, text in found)


def plain_ranges(root: etree._Element) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each range as printed, with the text before it and its XML ids; of papers with numbered labels."""
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


def figures_of(parsed: Parsed, contexts: dict[str, tuple[CitationContext, ...]]) -> dict[str, int]:
    """Return what is counted of one paper."""
    entries = {reference.xml_id for reference in parsed.paper.references}
    mentions = [one for each in parsed.paragraphs for one in each.mentions]
    return {
        "papers": 1,
        "references": len(contexts),
        "paragraphs": len(parsed.paragraphs),
        "mentions": len(mentions),
        "mentions of no entry": sum(entries.isdisjoint(one.entries) for one in mentions),
        "contexts": sum(map(len, contexts.values())),
        "implied": sum(each.implied for found in contexts.values() for each in found),
        "references with a context": sum(bool(found) for found in contexts.values()),
        "ranges and lists with implied references": len(ranges_of(contexts)),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = harness.parser(__doc__)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N random ranges of the plain reading")
    arguments = parser.parse_args(argv)
    count: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    shown: list[tuple[str, str, list[str], bool]] = []
    most = 0
    given = list(articles())
    read(given[0][1], text=True)  # compiles the kernels
    for name, data in given:
        started = time.perf_counter()
        bare = read(data, text=False)
        seconds["parsing"] += time.perf_counter() - started
        started = time.perf_counter()
        papers = read(data, text=True)
        seconds["parsing with text"] += time.perf_counter() - started
        if not bare:
            continue
        count["articles"] += 1
        found: Counter[tuple[tuple[str, ...], str]] = Counter()
        citing: dict[str, set[str]] = {}
        for parsed in papers:
            started = time.perf_counter()
            contexts = contexts_of(parsed.paper, parsed.paragraphs)
            seconds["contexts"] += time.perf_counter() - started
            found += mentions_of(parsed)
            for entry, sentences in sentences_of(parsed.paper, contexts).items():
                citing.setdefault(entry, set()).update(sentences)
            count.update(figures_of(parsed, contexts))
            parts.update(each.part for each in parsed.paragraphs for _ in each.mentions)
            most = max(most, *map(len, contexts.values()), 0)
        root = tree(data)
        links = plain_mentions(root)
        count["xref of type bibr"] += links.total()
        count["of which are mentions with the same entries and text"] += (links & found).total()
        for printed, text, wanted in plain_ranges(root):
            right = all(any(printed in each for each in citing.get(entry, ())) for entry in wanted)
            count["ranges of the plain reading"] += 1
            count["of which the sentence cites all references"] += right
            shown.append((name, text, wanted, right))
    count["most contexts of a reference"] = most
    rates = {f"articles/s, {what}": round(count["articles"] / each, 1) for what, each in seconds.items()}
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
