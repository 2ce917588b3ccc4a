"""Compare the division into sentences with packages that are installed: nupunkt, blingfire, syntok, pysbd.

    pip install --target /tmp/splitters nupunkt blingfire syntok pysbd
    PYTHONPATH=/tmp/splitters python -m benchmarks.contexts.sentences --json sentences.json
    PYTHONPATH=/tmp/splitters python -m benchmarks.contexts.sentences --show 50      prints disputed places for review

Random paragraphs of the real articles that mention references. The packages get the text without the citations, since none of
them knows that "found.3,4 We" ends a sentence; a place after a citation counts as the place before it. At a disputed place some
end a sentence and some do not.
"""

from __future__ import annotations

import importlib
import random
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks import harness
from benchmarks.contexts.mentions import articles, read
from reflink.contexts import grouping
from reflink.contexts.entries import Entries
from reflink.contexts.marking import Marking
from reflink.contexts.paragraphs import Paragraph
from reflink.contexts.ranges import cited
from reflink.contexts.sentences import Opaque, sentences

OWN = "reflink"
#: The words before a full stop that rarely ends a sentence.
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[])(?:al|e\.g|i\.e|[Ff]igs?|vs|cf|[Ee]qs?|[Rr]efs?|approx|ca|spp?|ssp|cv|var|Dr|No|[A-Z])\.$"
)

Splitter = Callable[[str], list[int]]


def nupunkt(text: str) -> list[int]:
    """Return the ends of sentences."""
    return [stop for _, stop in importlib.import_module("nupunkt").sent_spans(text)]


def blingfire(text: str) -> list[int]:
    """Return the ends of sentences."""
    return [stop for _, stop in importlib.import_module("blingfire").text_to_sentences_and_offsets(text)[1]]


def syntok(text: str) -> list[int]:
    """Return the ends of sentences."""
    found = importlib.import_module("syntok.segmenter").process(text)
    return [each[-1].offset + len(each[-1].value) for paragraph in found for each in paragraph]


def pysbd(text: str) -> list[int]:
    """Return the ends of sentences."""
    found = importlib.import_module("pysbd").Segmenter(language="en", clean=False, char_span=True).segment(text)
    return [each.start + len(each.sent) for each in found]


SPLITTERS: dict[str, Splitter] = {each.__name__: each for each in (nupunkt, blingfire, syntok, pysbd)}


def sample(number: int) -> Iterator[tuple[Paragraph, list[Opaque]]]:
    """Yield random paragraphs with mentions, and the spans of their citations and formulas."""
    found: list[tuple[Any, Paragraph]] = []
    for _, data in articles():
        for parsed in read(data, text=True)[:1]:  # the article without its sub-articles
            found += [(parsed.paper, each) for each in parsed.paragraphs if each.mentions and each.part != "table"]
    for paper, paragraph in random.Random(7).sample(found, min(number, len(found))):
        slots, joined = cited(paragraph, Entries(paper.references), 10_000)
        groups = grouping.groups(paragraph, joined)
        runs = [run for group in groups for run in grouping.runs(paragraph, group)]
        yield paragraph, Marking(paragraph, runs, slots).spans


def without_citations(text: str, spans: Sequence[Opaque]) -> tuple[str, list[int]]:
    """Return the text without citations, and for each of its characters the place in ``text``."""
    cut = {at for span in spans if span.citation for at in range(span.start, span.stop)}
    places = [at for at in range(len(text)) if at not in cut]
    return "".join(text[at] for at in places), places


def before_citations(text: str, spans: Sequence[Opaque], stop: int) -> int:
    """Return the place before the citations that precede the end of a sentence and follow its full stop."""
    starts = [span.start for span in spans]
    at = bisect_left(starts, stop) - 1
    while at >= 0 and spans[at].citation and not text[spans[at].stop : stop].strip(" )]}"):
        place = len(text[: starts[at]].rstrip())
        if text[place - 1 : place] not in tuple('.!?"”)'):
            break
        stop, at = place, at - 1
    return stop


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = harness.parser(__doc__)
    parser.add_argument("--paragraphs", type=int, default=1_500, help="default: 1500")
    parser.add_argument("--against", choices=SPLITTERS, help="only places that reflink and this package dispute")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N random disputed places")
    arguments = parser.parse_args(argv)
    given = list(sample(arguments.paragraphs))
    size = sum(len(paragraph.text) for paragraph, _ in given)
    ends: dict[str, list[set[int]]] = {}
    figures: dict[str, dict[str, float]] = {}
    for name, split in ((OWN, None), *SPLITTERS.items()):
        try:
            if split is not None:
                split("This is. It is.")
        except ImportError:
            continue
        taken = 0.0
        ends[name] = []
        abbreviated = 0
        for paragraph, spans in given:
            text, places = without_citations(paragraph.text, spans)
            started = time.perf_counter()
            stops = [stop for _, stop in sentences(paragraph.text, spans)] if split is None else split(text)
            taken += time.perf_counter() - started
            if split is not None:
                trimmed = [len(text[:stop].rstrip()) for stop in stops]
                stops = [places[stop - 1] + 1 for stop in trimmed if stop]
            inner = {before_citations(paragraph.text, spans, stop) for stop in stops[:-1]}
            abbreviated += sum(_ABBREVIATED.search(paragraph.text[max(0, stop - 12) : stop]) is not None for stop in inner)
            ends[name].append(inner)
        number = sum(map(len, ends[name]))
        figures[name] = {"MB/s": size / taken / 1e6, "ends": number, "after an abbreviation": abbreviated / max(1, number)}
    disputed: list[tuple[Paragraph, int, tuple[str, ...]]] = []
    for at, (paragraph, _) in enumerate(given):
        for stop in sorted(set().union(*(ends[name][at] for name in ends))):
            who = tuple(name for name in ends if stop in ends[name][at])
            if len(who) < len(ends):
                disputed.append((paragraph, stop, who))
    count = Counter(who for _, _, who in disputed)
    for name, each in figures.items():
        against = sum(number for who, number in count.items() if (name in who) != (OWN in who))
        each["differs from reflink"] = against
        print(f"{name:10} " + "  ".join(f"{what} {figure:,.3f}" for what, figure in each.items()))
    print(f"{len(disputed):,} disputed places in {len(given):,} paragraphs")
    if arguments.against:
        disputed = [each for each in disputed if (arguments.against in each[2]) != (OWN in each[2])]
    for paragraph, stop, who in random.Random(1).sample(disputed, min(arguments.show, len(disputed))):
        print(f"{','.join(who):40} {paragraph.text[max(0, stop - 45) : stop]} ¦ {paragraph.text[stop : stop + 30]}")
    harness.save(arguments.json, {"splitters": figures, "disputed": len(disputed)})


if __name__ == "__main__":
    main()
