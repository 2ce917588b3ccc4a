"""Compare reflink.jats with another extractor on the 1,510 real articles: references found, and every field.

    python -m benchmarks.parsing.fields --show title --json parsing.json

The other extractor is not ground truth: it has known errors, and `--show FIELD` prints the differences for review.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness
from reflink import jats, text
from reflink.entities import ID_KINDS, Reference
from tests.data import jats_folder, shared_data

FIELDS = (
    "raw_text", "raw_noid", "kind", "title", "chapter_title", "last_names", "collab", "venue", "year", "volume", "issue",
    "first_page", *ID_KINDS,
)  # fmt: skip

#: A record of the other extractor and ours for the same work of the same article.
Pair = tuple[dict[str, Any], Reference]


def yardstick(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the other extractor's references by file."""
    by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            by_file[record["file"]].append(record)
    return by_file


def _key(record: dict[str, Any]) -> tuple[str, int]:
    name, _, _ = record["rid"].removeprefix(record["citing"] + "#").rpartition("@")
    if record.get("n_cit_in_ref"):
        name, _, ordinal = name.rpartition(".")
        return name, int(ordinal)
    return name, 1


def pairs(
    theirs: list[dict[str, Any]], ours: tuple[Reference, ...]
) -> tuple[list[Pair], list[dict[str, Any]], list[Reference]]:
    """Match by XML id and ordinal, then by equal text; return pairs, the other extractor's rest, our rest."""
    times = Counter(_key(record) for record in theirs)
    by_key = {(ref.xml_id or "", int(ref.id.rpartition(".")[2])): ref for ref in ours}
    unused = {ref.id: ref for ref in ours}
    matched: list[Pair] = []
    waiting: list[dict[str, Any]] = []
    for record in theirs:
        ref = by_key.get(_key(record)) if times[_key(record)] == 1 else None
        if ref is not None and ref.id in unused:
            matched.append((record, unused.pop(ref.id)))
        else:
            waiting.append(record)
    by_text: dict[str, list[Reference]] = defaultdict(list)
    for ref in unused.values():
        by_text[_plain(ref.raw_query)].append(ref)
    missing = []
    for record in waiting:
        same = by_text.get(_plain(record.get("raw_noid") or ""))
        if same:
            ref = same.pop(0)
            matched.append((record, unused.pop(ref.id)))
        else:
            missing.append(record)
    return matched, missing, list(unused.values())


def _plain(value: str) -> str:
    return text.normalise(value, lexical=False)


def _line(value: Any) -> str:
    return " ".join(str(value or "").split())


def values(record: dict[str, Any], ref: Reference, field: str) -> tuple[Any, Any]:
    """Return both values of a field in one spelling: text with white space collapsed; raw_noid as queries use it."""
    if field == "raw_noid":
        return _plain(record.get("raw_noid") or ""), _plain(ref.raw_query)
    if field == "kind":
        return _line(record.get("pub_type")), _line(ref.kind)
    if field == "last_names":
        return tuple(map(_line, record.get("last_names") or ())), tuple(map(_line, ref.last_names))
    if field == "year":
        return record.get("year"), ref.year
    if field in ID_KINDS:
        both = {**(record.get("ids_weak") or {}), **(record.get("ids") or {})}
        return both.get(field), getattr(ref.ids, field) or getattr(ref.ids_weak, field)
    return _line(record.get(field)), _line(getattr(ref, field))


def _words(value: Any) -> str:
    """Return the value without white space and punctuation, to separate differences in spacing from differences in content."""
    return re.sub(r"\W", "", str(value).lower())


def compare(
    folder: Path, by_file: dict[str, list[dict[str, Any]]]
) -> Iterator[tuple[str, list[Pair], list[dict[str, Any]], list[Reference], tuple[float, float]]]:
    """Yield (file, pairs, missing, extra, wall and processor seconds to parse) of each article."""
    for name in sorted(by_file):
        data = (folder / name).read_bytes()
        start, spent = time.perf_counter(), time.process_time()
        papers = jats.parse_all(data, source=name)
        took = time.perf_counter() - start, time.process_time() - spent
        yield name, *pairs(by_file[name], tuple(reference for paper, _ in papers for reference in paper.references)), took


def main() -> None:
    parser = harness.parser(__doc__)
    parser.add_argument("--show", metavar="FIELD", choices=(*FIELDS, "missing", "extra"), help="print differences of one field")
    parser.add_argument("--words", action="store_true", help="show only differences beyond spacing and punctuation")
    parser.add_argument("--count", type=int, default=30, help="how many to print, spread over all (default 30)")
    arguments = parser.parse_args()

    equal, same_words, total, present = Counter[str](), Counter[str](), 0, Counter[str]()
    shown: list[str] = []
    missing = extra = files = 0
    seconds = processor = 0.0
    for name, matched, lacking, more, took in compare(jats_folder(), yardstick(shared_data() / "references_dev.jsonl.gz")):
        files, seconds, processor = files + 1, seconds + took[0], processor + took[1]
        blank = [record for record in lacking if not record.get("raw_text")]  # empty placeholders are not references
        missing, extra, total = missing + len(lacking) - len(blank), extra + len(more), total + len(matched)
        if arguments.show == "missing":
            shown += [f"{name} {record['rid']}: {_line(record.get('raw_text'))}" for record in lacking if record not in blank]
        if arguments.show == "extra":
            shown += [f"{name} {ref.id}: {ref.raw_text}" for ref in more]
        for record, ref in matched:
            for field in FIELDS:
                their, our = values(record, ref, field)
                present[field] += bool(their or our)
                if their == our or (not their and not our):
                    equal[field] += 1
                    same_words[field] += 1
                    continue
                close = _words(their) == _words(our)
                same_words[field] += close
                if field == arguments.show and not (close and arguments.words):
                    shown.append(f"{name} {record['rid']}\n  theirs {their!r}\n  ours   {our!r}")
    found = total / (total + missing)
    print(f"{files} articles, {total + missing} references, {100 * found:.3f}% found, {extra} more")
    print(f"{files / seconds:.0f} papers/s, {files / processor:.0f} per second of processor time")
    print(f"{'field':14} {'equal':>8} {'words':>8} {'present':>8} {'differ':>7}   (%; words: spacing and punctuation apart)")
    table = {}
    for field in FIELDS:
        share, alike = equal[field] / total, same_words[field] / total
        table[field] = {"equal": share, "words": alike, "present": present[field]}
        print(f"{field:14} {100 * share:8.3f} {100 * alike:8.3f} {present[field]:8} {total - equal[field]:7}")
    step = max(1, len(shown) // arguments.count)
    if shown:
        print(f"\n{len(shown)} differences in {arguments.show}, {min(len(shown), arguments.count)} of them:")
        print("\n".join(shown[::step][: arguments.count]))
    report = {"articles": files, "found": found, "missing": missing, "extra": extra, "papers_per_second": files / processor}
    harness.save(arguments.json, {**report, "fields": table})


if __name__ == "__main__":
    main()
