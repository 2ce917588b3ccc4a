"""LaTeX sources: speed, patterns that found the entries, and the share of entries with a title, locator or identifier.

``python -m benchmarks.formats.latex`` reads the real sources of the shared data that have entries. ``--peer`` converts these
with pylatexenc, if it is installed. ``--ads`` compares the lists of ads_iss0.tex with what ADS expects. ``--blocks`` compares
the fields that are recognised in .bbl files with the BibTeX files that they were made from.
"""

from __future__ import annotations

import html
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import parser, save
from reflink.entities import Reference
from reflink.errors import ReflinkError
from reflink.folding import fold
from reflink.formats import Content, Options, format_named
from reflink.formats.latex import archive
from reflink.formats.latex.bibtex import bibtex_entries
from reflink.formats.latex.citations import Reading
from reflink.formats.latex.items import Item, items
from reflink.formats.latex.project import project
from reflink.formats.latex.records import citation
from reflink.limits import Limits
from tests.data import shared_data

_ROUNDS: Final = 5
#: Bibliographies with the BibTeX files that they were made from.
_PAIRS: Final = {
    "newblock": ("cosmic21cm/chapter.bbl", "cosmic21cm/References.bib"), "prl": ("dropimpact/ms.bbl", "dropimpact/refs.bib"),
    "revtex": ("frg/paper.bbl", "frg/refs.bib"),
}  # fmt: skip
_RECORD: Final = re.compile(r"(?m)^(?=%R |\\adsbibcode)")
_CODE: Final = re.compile(r"(?:%R |.adsbibcode.)([^}\s]+)")
_LIST: Final = re.compile(r"(?ms)^(?:%Z|%%PAGE .*?\n|.adsbibcode.*?\n)(.*?)(?=^%[A-Y] |\Z)")


def sources() -> list[Path]:
    """Return the real sources with a bibliography."""
    folder = shared_data() / "sources" / "latex"
    found = [
        path for path in sorted(folder.rglob("*")) if path.suffix in (".tex", ".bbl", ".gz") and path.name != "ads_iss0.tex"
    ]
    return [path for path in found if references(path.read_bytes(), infer=False)]


def references(data: bytes, *, infer: bool, text: bool = False) -> tuple[Reference, ...]:
    try:
        (parsed,) = format_named("latex").parse(Content(data, "x"), Options(infer=infer, text=text))
    except ReflinkError:
        return ()
    return parsed.paper.references


def seconds(data: bytes, **options: bool) -> float:
    def once() -> float:
        start = time.perf_counter()
        references(data, **options)
        return time.perf_counter() - start

    return min(once() for _ in range(_ROUNDS))


def entries(data: bytes) -> tuple[list[Item], Reading]:
    files = archive.members(data, "x", Limits(), [])
    source = project(files, "x", Limits(), [])
    return items(source.body), Reading(source.macros, len(source.text))


def measure(paths: list[Path]) -> dict[str, Any]:
    patterns: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    for path in paths:
        data = path.read_bytes()
        refs = references(data, infer=True)
        patterns.update(each.pattern for each in entries(data)[0])
        got = [each.inferred or each for each in refs]
        found.append({
            "file": f"{path.parent.name}/{path.name}", "references": len(refs),
            "tagged": sum(bool(each.title or each.last_names or each.volume) for each in refs),
            "title": sum(each.title is not None for each in got),
            "locator": sum(each.volume is not None and each.first_page is not None and each.year is not None for each in got),
            "id": sum(bool(each.ids.keys() or each.ids_weak.keys()) for each in refs),
            "any": sum(bool(each.ids.keys() or each.ids_weak.keys() or one.title or (one.volume and one.first_page))
                       for each, one in zip(refs, got, strict=True)),
            "ms": round(1e3 * seconds(data, infer=False), 1), "ms_infer": round(1e3 * seconds(data, infer=True), 1),
            "ms_text": round(1e3 * seconds(data, infer=False, text=True), 1),
        })  # fmt: skip
        print(*(f"{name} {value}" for name, value in found[-1].items()), sep="  ")
    total = {name: sum(each[name] for each in found) for name in found[0] if name != "file"}
    for name in ("ms", "ms_infer", "ms_text"):
        print(
            f"{name}: {1e3 * len(found) / total[name]:.0f} papers/s, {1e3 * total['references'] / total[name]:.0f} references/s"
        )
    print(
        "shares:", {name: round(total[name] / total["references"], 3) for name in ("tagged", "title", "locator", "id", "any")}
    )
    print("patterns:", dict(patterns))
    return {"files": found, "total": total, "patterns": patterns}


def peer(paths: list[Path]) -> dict[str, Any]:
    """Convert each entry with pylatexenc, as shipped, and with the renderer."""
    from pylatexenc.latex2text import LatexNodes2Text

    converter = LatexNodes2Text()
    ours = theirs = 0.0
    count = failed = equal = 0
    for path in paths:
        found, reading = entries(path.read_bytes())
        for item in found:
            count += 1
            start = time.perf_counter()
            text = reading.plain(item.source)
            between = time.perf_counter()
            try:
                other = " ".join(converter.latex_to_text(item.source).split())
            except Exception:
                other, failed = "", failed + 1
            theirs += time.perf_counter() - between
            ours += between - start
            equal += fold(text) == fold(other)
    figures = {
        "entries": count,
        "ours_per_s": count / ours,
        "peer_per_s": count / theirs,
        "peer_failed": failed,
        "equal": equal,
    }
    print(figures)
    return figures


def ads() -> dict[str, Any]:
    """Compare the lists of ads_iss0.tex with the texts that ADS expects, up to names of journals, accents and punctuation."""
    folder = shared_data() / "sources" / "latex"
    expected: dict[str, list[str]] = {}
    for line in (folder / "ads_iss0.tex.result").read_text().splitlines():
        if line.startswith("---<"):
            texts = expected.setdefault(line[4:23], [])
        elif line.strip():
            texts.append(line)
    found = same = lists = 0
    for record in _RECORD.split((folder / "ads_iss0.tex").read_text()):
        code, content = _CODE.match(record), _LIST.search(record)
        if code is None or content is None:
            continue
        source = html.unescape(content[1].strip()).replace("\\\\bib", "\\bib")
        refs = references(source.encode(), infer=False)
        wanted = expected.get(code[1], [])
        found += len(refs)
        lists += len(refs) == len(wanted)
        same += len({_words(each) for each in wanted} & {_words(each.raw_text) for each in refs})
    total = sum(map(len, expected.values()))
    figures = {"expected": total, "found": found, "same_text": same, "lists": len(expected), "same_length": lists}
    print(figures)
    return figures


def _words(text: str) -> str:
    text = re.sub(r"(?<=[A-Za-z])['\"`](?=[a-z])", "", text.replace("etal", "et al"))
    names = {"A&A": "aap", "A&AS": "aaps", "Nature": "nat", "Phys. Rev. Lett.": "prl", "MNRAS": "mnras", "ApJL": "apjl"}
    for printed, macro in names.items():
        text = text.replace(printed, macro)
    return fold(text).replace(" ", "")


def blocks() -> dict[str, Any]:
    """Compare recognised fields with the BibTeX files behind the .bbl files."""
    folder = shared_data() / "sources" / "latex"
    figures: dict[str, Any] = {}
    for name, (bbl, bib) in _PAIRS.items():
        source = (folder / bib).read_text(errors="replace")
        reading = Reading({}, len(source))
        truth = {key: citation(kind, fields, reading.plain) for kind, key, fields in bibtex_entries(source)}
        right: Counter[str] = Counter()
        given: Counter[str] = Counter()
        stated: Counter[str] = Counter()
        for each in references((folder / bbl).read_bytes(), infer=True):
            wanted = truth.get(each.xml_id or "") or {}
            got = each.inferred or each
            for field in ("title", "year", "volume", "first_page", "last_names"):
                value, want = getattr(got, field), wanted.get(field)
                if want:
                    stated[field] += 1
                    given[field] += bool(value)
                    right[field] += bool(value) and fold(str(value)) == fold(str(want))
        figures[name] = {field: f"{right[field]} right, {given[field]} given of {stated[field]}" for field in stated}
        print(name, figures[name])
    return figures


def main() -> int:
    made = parser(__doc__)
    for name in ("peer", "ads", "blocks"):
        made.add_argument(f"--{name}", action="store_true")
    options = made.parse_args()
    if options.ads or options.blocks:
        figures = ads() if options.ads else blocks()
    else:
        figures = peer(sources()) if options.peer else measure(sources())
    save(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
