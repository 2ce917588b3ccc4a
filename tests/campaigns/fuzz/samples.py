"""Fuzzing of the formats other than JATS: real sample files, made smaller, then damaged; the laws of every format."""

from __future__ import annotations

import gzip
import io
import json
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Self

from lxml import etree

from reflink.contexts.paragraphs import Paragraph
from reflink.entities import Ids, Link, Work
from reflink.errors import NotAPaper, PackageMissing, ReflinkError, TooLarge
from reflink.formats import Content, Decision, Format, Options, Parsed, format_named, format_of
from reflink.limits import Limits
from tests.campaigns.fuzz.bytewise import BYTES
from tests.campaigns.fuzz.checks import SLOWEST, Broken, Outcome, check_error, check_paper, hold, json_of, where
from tests.campaigns.fuzz.markup import MARKUP
from tests.campaigns.fuzz.mutations import LARGEST, Input
from tests.campaigns.fuzz.textual import TEXT
from tests.data import find_shared_data

#: Size in bytes up to which a sample is made smaller.
_SMALL: Final = 20_000
#: Smaller variants of each sample.
_VARIANTS: Final = 20
#: CPU seconds for each byte of untagged citations, of which recognition takes 6 µs on a core of its own.
_PER_BYTE: Final = 2e-5
_LARGEST_SAMPLE: Final = 2_000_000
_LIMITS: Final = ((2_000, 256, 20_000), (64 * 2**20, 6, 20_000), (64 * 2**20, 256, 2), (0, 256, 20_000), (64 * 2**20, 256, 0))
_VALUES: Final = (
    None, True, 0, -1, 2**70, 1.5, "", " ", "a\x00b", "10.1000/x", "10.1000/y z", "2004", "1-9", "x" * 20_000, [], {},
    "é<i>t</i>&amp;",
    [None], [[[]]], {"": None}, "BIBREF0", "b0", "\ud83d\ude00", "2004-99-99",
)  # fmt: skip
_NAMED: Final = (NotAPaper, TooLarge, PackageMissing)


@dataclass(frozen=True)
class Samples:
    """One format, and the files that it is fuzzed with."""

    format: Format
    files: tuple[tuple[str, bytes], ...]

    @classmethod
    def of(cls, name: str) -> Self:
        """Read the shared samples of the format ``name`` and make smaller variants of them. Raises ValueError without any."""
        shared, wanted = find_shared_data(), format_named(name)
        found: list[tuple[str, bytes]] = []
        if shared is not None:
            found = [
                *_samples(shared / "sources", wanted),
                *_of_medline(shared / "medline", wanted),
                *_packages(shared, wanted),
            ]
        if not found:
            raise ValueError(f"no sample of {name}: REFLINK_SHARED_DATA names the folder of the shared data")
        rng = Random(name)
        made = [(f"{path}:{at}", _smaller(rng, data)) for path, data in found for at in range(_VARIANTS)]
        return cls(wanted, tuple(made))

    def generate(self, seed: int, number: int) -> Input:
        """Return the input with this number: a variant of a sample with up to eight mutations, or parts of two."""
        rng = Random(f"{self.format.name}:{seed}:{number}")
        base, data = rng.choice(self.files)
        names: list[str] = []
        if rng.random() < 0.05:
            other = rng.choice(self.files)[1]
            data = data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]
            names.append("splice")
        markup = data.lstrip()[:1] == b"<"
        count = 0 if rng.random() < 0.03 else min(1 + int(rng.expovariate(0.7)), 8)
        if data.lstrip()[:1] in (b"{", b"[") and rng.random() < 0.8:
            data, count = _other_values(rng, data, count), 0
            names.append("values")
        for _ in range(count):
            mutation = rng.choice(rng.choice((BYTES, MARKUP, TEXT) if markup else (BYTES, BYTES, TEXT)))
            data = mutation(rng, data)[:LARGEST]
            names.append(mutation.__name__)
        source = f"fuzz-{number}" if rng.random() < 0.9 else rng.choice((None, "", " ", "a name#1 with spaces", "nul\0"))
        limits = rng.choice(_LIMITS) if rng.random() < 0.02 else None
        return Input(number, data, source, limits, base.partition(":")[0], tuple(names))

    def check(self, item: Input) -> Outcome:
        """Parse one input twice, with its text, and write it with links. Raises Broken if a law does not hold."""
        limits = Limits(*item.limits) if item.limits else Limits()
        content = Content(item.data, item.source)
        result, seconds = self._parsed(content, limits)
        most = SLOWEST + len(item.data) * _PER_BYTE
        if seconds > most and (seconds := min(seconds, self._parsed(Content(item.data, item.source), limits)[1])) > most:
            raise Broken("slow", f"{seconds:.1f} s of CPU time for {len(item.data)} bytes")
        again, _ = self._parsed(Content(item.data, item.source), limits)
        if isinstance(result, ReflinkError):
            check_error(result, item.source)
            hold("deterministic", type(again) is type(result) and str(again) == str(result), f"{again!r} after {result!r}")
            return Outcome(type(result).__name__, 0, seconds, False)
        hold("deterministic", again == result, "two results of the same bytes")
        hold("papers", bool(result), "no paper")
        ids = [each.paper.id for each in result]
        hold("papers", len(set(ids)) == len(ids), f"two papers with one id: {ids[:5]}")
        for each in result:
            check_paper(each.paper, json_of(each.paper))
            known = {reference.xml_id for reference in each.paper.references}
            for paragraph in each.paragraphs:
                check_paragraph(paragraph, known)
        count = sum(len(each.paper.references) for each in result)
        hold("limits", count <= limits.references and len(item.data) <= limits.size, f"{count} references")
        if self.format.writes:
            self._written(content, result)
        return Outcome("Paper", count, seconds, False)

    def _parsed(self, content: Content, limits: Limits) -> tuple[tuple[Parsed, ...] | ReflinkError, float]:
        start = time.thread_time()
        try:
            format_of(content)
        except NotAPaper:
            pass
        except Exception as error:
            raise Broken("recognises", repr(error), f"recognises {type(error).__name__} in {where(error)}") from error
        try:
            result: tuple[Parsed, ...] | ReflinkError = self.format.parse(content, Options(limits, text=True))
        except _NAMED as error:
            result = error
        except Exception as error:
            raise Broken("raises", repr(error), f"raises {type(error).__name__} in {where(error)}") from error
        return result, time.thread_time() - start

    def _written(self, content: Content, result: Sequence[Parsed]) -> None:
        references = [reference for each in result for reference in each.paper.references]
        work = Work(id="doi:10.5555/fuzz", ids=Ids(doi="10.5555/fuzz", pmid="7"))
        decisions = {
            each.id: Decision(Link(reference=each.id, citing=each.citing, cited=work.id, probability=0.9), work)
            for each in references[::2]
        }
        try:
            written = self.format.with_links(content, decisions)
        except _NAMED:
            return
        except Exception as error:
            raise Broken("writes", repr(error), f"writes {type(error).__name__} in {where(error)}") from error
        again, _ = self._parsed(Content(written, content.source), Limits())
        hold("written", not isinstance(again, ReflinkError), f"the paper with links cannot be read: {again}")
        if not isinstance(again, ReflinkError):
            count = sum(len(each.paper.references) for each in again)
            hold("written", count == len(references), f"{count} references with links, {len(references)} without")


def check_paragraph(paragraph: Paragraph, known: set[str | None]) -> None:
    """Check the laws of a paragraph of a paper whose entries are ``known``. Raises Broken."""
    text, at = paragraph.text, 0
    hold("paragraph", text == " ".join(text.split()), f"not one line: {text[:80]!r}")
    for mention in paragraph.mentions:
        hold("mention", at <= mention.start <= mention.stop <= len(text), f"{mention} in {len(text)} characters")
        hold("mention", bool(mention.entries), f"{mention} names no entry")
        at = mention.start
    for start, stop in paragraph.formulas:
        hold("formula", 0 <= start <= stop <= len(text), f"{start}-{stop} of {len(text)}")


def _samples(folder: Path, wanted: Format) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        data = path.read_bytes()
        if len(data) > _LARGEST_SAMPLE:
            continue
        try:
            if format_of(Content(data, path.stem)) is wanted:
                found.append((path.name, data))
        except NotAPaper:
            continue
    return found


def _of_medline(folder: Path, wanted: Format) -> list[tuple[str, bytes]]:
    """Return some of the articles of PubMed's files."""
    found: list[tuple[str, bytes]] = []
    for path in sorted(folder.glob("*.xml.gz")) if wanted.name == "pubmed" else ():
        with gzip.open(path) as file:
            whole = b"</PubmedArticle>".join(file.read(400_000).split(b"</PubmedArticle>")[:-1])
        found.append((path.name, whole + b"</PubmedArticle></PubmedArticleSet>"))
    return found


def _packages(shared: Path, wanted: Format) -> list[tuple[str, bytes]]:
    """Return the MECA packages, which the shared data have unpacked."""
    found: list[tuple[str, bytes]] = []
    for folder in sorted((shared / "sources" / "meca").iterdir()) if wanted.name == "meca" else ():
        if not (folder / "manifest.xml").is_file():
            continue
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as package:
            for path in sorted(each for each in folder.rglob("*.xml")):
                package.write(path, path.relative_to(folder).as_posix(), zipfile.ZIP_DEFLATED)
        found.append((folder.name, packed.getvalue()))
    return found


def _smaller(rng: Random, data: bytes) -> bytes:
    """Return a part of a sample that its format still reads, of about _SMALL bytes; packed data stay as they are."""
    if len(data) <= _SMALL or data[:2] in (b"PK", b"\x1f\x8b") or b"ustar" in data[257:263]:
        return data
    keep = _SMALL / len(data)
    head = data.lstrip()[:1]
    if head == b"<":
        try:
            return _thinned(rng, etree.fromstring(data, etree.XMLParser(load_dtd=False, no_network=True)), keep)
        except etree.XMLSyntaxError:
            pass
    if head in (b"{", b"["):
        try:
            return json.dumps(_pruned(rng, json.loads(data)), ensure_ascii=False).encode()
        except ValueError:
            pass
    lines = data.splitlines(keepends=True)
    start = rng.randrange(len(lines))
    kept = [line for at, line in enumerate(lines) if at < 30 or start <= at < start + 150 or rng.random() < keep / 4]
    return b"".join(kept)[:LARGEST]


def _other_values(rng: Random, data: bytes, count: int) -> bytes:
    """Replace values anywhere in JSON by others, or by values of other types."""
    try:
        value = [json.loads(data)]
    except ValueError:
        return data
    for _ in range(count):
        inside: Any = value
        while True:
            place = rng.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
            if not (isinstance(inside[place], list | dict) and inside[place] and rng.random() < 0.9):
                break
            inside = inside[place]
        if rng.random() < 0.2 and inside is not value:
            del inside[place]
            if not inside:
                break
        else:
            inside[place] = rng.choice((*_VALUES, [inside[place]], {"x": inside[place]}))
    return json.dumps(value[0], ensure_ascii=False).encode(errors="replace")


def _thinned(rng: Random, root: etree._Element, keep: float) -> bytes:
    for element in list(root.iter()):
        siblings = element.getparent()
        if siblings is not None and len(siblings) > 4 and rng.random() > max(keep, 0.05) * 2:
            siblings.remove(element)
    return etree.tostring(root, encoding="utf-8")


def _pruned(rng: Random, value: Any) -> Any:
    if isinstance(value, list):
        few = value if len(value) <= 6 else sorted(rng.sample(range(len(value)), 6))
        return [_pruned(rng, each if few is value else value[each]) for each in few]
    if isinstance(value, dict):
        names = list(value) if len(value) <= 60 else rng.sample(list(value), 60)
        return {name: _pruned(rng, value[name]) for name in names}
    return value
