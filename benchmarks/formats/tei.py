"""TEI and S2ORC: speed beside bare parsing, and GROBID's fields beside those that reflink recognises in the printed citation.

``python -m benchmarks.formats.tei [--json FILE]``. The truth are the publisher's NLM articles of the shared data
(``tei/gold_X.nxml`` of ``tei/pmc1943_X.xml``).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
from lxml import etree

from benchmarks.machine import describe
from reflink import jats
from reflink.entities import Paper, Reference
from reflink.errors import ReflinkError
from reflink.formats import Content, Options, format_named, format_of
from reflink.recognition import recognise
from reflink.text import normalise
from tests.data import shared_data

FIELDS: Final = ("title", "last_names", "venue", "year", "volume", "first_page")
ROUNDS: Final = 5
_BARE: Final[dict[str, Callable[[bytes], object]]] = {"tei": etree.fromstring, "s2orc": orjson.loads}


def samples(name: str, folder: Path) -> list[bytes]:
    """Return the shared files of a format that are one document."""
    found = []
    for path in sorted(folder.iterdir()):
        content = Content(path.read_bytes(), path.stem)
        try:
            if format_of(content).name == name and (name == "tei" or content.json is not None):
                found.append(content.data)
        except ReflinkError:
            continue
    return found


def speed(name: str, data: list[bytes]) -> dict[str, Any]:
    """Return papers per second of bare parsing, and of reading without and with inference, alternating; medians."""
    ways: dict[str, Callable[[bytes], object]] = {
        "bare": _BARE[name],
        "read": lambda each: format_named(name).parse(Content(each, "x"), Options(infer=False)),
        "inferring": lambda each: format_named(name).parse(Content(each, "x"), Options()),
        "with text": lambda each: format_named(name).parse(Content(each, "x"), Options(infer=False, text=True)),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, parse in ways.items():
            began = time.process_time()
            for each in data:
                parse(each)
            seconds[way].append(time.process_time() - began)
    medians = {way: statistics.median(each) for way, each in seconds.items()}
    rates = {f"papers/s, {way}": round(len(data) / each, 1) for way, each in medians.items()}
    return {"files": len(data), **rates, "times bare parsing": round(medians["read"] / medians["bare"], 2)}


def _equal(field: str, one: Any, other: Any) -> bool:
    if field == "last_names":
        return [normalise(each, lexical=False) for each in one] == [normalise(each, lexical=False) for each in other]
    return normalise(str(one), lexical=False) == normalise(str(other), lexical=False)


def _matched(read: Paper, gold: Paper) -> list[tuple[Reference, Reference]]:
    """Return pairs of references of the same work: in the order of the bibliography, the title or the printed words agree."""

    def words(reference: Reference) -> set[str]:
        return set(normalise(reference.title or reference.raw_text, lexical=False).split())

    pairs: list[tuple[Reference, Reference]] = []
    left = list(gold.references)
    for each in read.references:
        mine = words(each) | set(normalise(each.raw_text, lexical=False).split())
        best = max(left, key=lambda one: len(mine & words(one)) / max(len(words(one)), 1), default=None)
        if best is not None and len(mine & words(best)) >= 0.6 * len(words(best)):
            pairs.append((each, best))
            left.remove(best)
    return pairs


def accuracy(folder: Path) -> dict[str, Any]:
    """Return, for each field, how often the reader's and the recognised values agree with the publisher's."""
    counts: Counter[tuple[str, str]] = Counter()
    pairs = cited = 0
    for path in sorted(folder.glob("pmc1943_*.xml")):
        gold = jats.parse((folder / f"gold_{path.stem.removeprefix('pmc1943_')}.nxml").read_bytes())
        (parsed,) = format_named("tei").parse(Content(path.read_bytes(), path.stem), Options())
        cited += len(gold.references)
        for read, truth in _matched(parsed.paper, gold):
            pairs += 1
            found = recognise(read.raw_query)
            for field in FIELDS:
                if not (stated := getattr(truth, field)):
                    continue
                counts[field, "stated"] += 1
                for who, source in (("read", read), ("recognised", found)):
                    value = getattr(source, field, None)
                    counts[field, f"{who}, returned"] += bool(value)
                    counts[field, f"{who}, right"] += bool(value) and _equal(field, value, stated)
    columns = ("stated", *(f"{who}, {how}" for who in ("read", "recognised") for how in ("returned", "right")))
    fields = {field: {column: counts[field, column] for column in columns} for field in FIELDS}
    return {"references": cited, "matched": pairs, "fields": fields}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sources = shared_data() / "sources"
    result = {
        "machine": describe(),
        "speed": {name: speed(name, samples(name, sources / name)) for name in _BARE},
        "fields": accuracy(sources / "tei"),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
