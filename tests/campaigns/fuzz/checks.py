"""The oracle: the laws that must hold for every input."""

from __future__ import annotations

import re
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from reflink.entities import Ids, Paper, Reference
from reflink.errors import NotAPaper, ReflinkError, TooLarge
from reflink.identifiers import NORMALISERS, extract
from reflink.jats import Limits, parse
from reflink.stripping import strip
from tests.campaigns.fuzz import plain

#: Maximum CPU time of one input, in seconds.
SLOWEST: Final = 1.0
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: Fields whose values come from attributes, so that any value of an attribute is allowed.
_VERBATIM: Final = frozenset(("xml_id", "kind", "article_type", "language", "source", "id", "citing", "stated"))
_FIRST_YEAR: Final = 1500
_LAST_YEAR: Final = 2099
#: Maximum length of ``raw_text`` in characters; the parser truncates longer texts.
_CUT: Final = 10_000


class Broken(Exception):
    """A law does not hold. ``law`` is its name; ``signature`` is equal for finds with the same cause."""

    def __init__(self, law: str, detail: str, signature: str = ""):
        super().__init__(f"{law}: {detail}")
        self.law = law
        self.signature = signature or law


@dataclass(frozen=True)
class Outcome:
    """The outcome of an input.

    ``name`` is ``Paper`` or the name of the error, ``references`` the number of references, ``seconds`` the CPU time, and
    ``confirmed`` whether the plain reading was compared too.
    """

    name: str
    references: int
    seconds: float
    confirmed: bool


def check(data: bytes, source: str | None = None, limits: tuple[int, int, int] | None = None) -> Outcome:
    """Parse and check one input. Raises Broken if a law does not hold."""
    given = Limits(*limits) if limits else None
    result, seconds = _parse(data, source, given)
    if seconds > SLOWEST:
        if seconds < 5 * SLOWEST:  # another process may have evicted the caches
            seconds = min(seconds, _parse(data, source, given)[1])
        if seconds > SLOWEST:
            raise Broken("slow", f"{seconds:.1f} s of CPU time for {len(data)} bytes")
    if isinstance(result, ReflinkError):
        check_error(result, source)
        again = _parse(data, source, given)[0]
        hold("deterministic", type(again) is type(result) and str(again) == str(result), f"{again!r} after {result!r}")
        reading = plain.read(data) if given is None and isinstance(result, NotAPaper) else None
        hold("refused", not (reading and reading.paper), str(result))
        return Outcome(type(result).__name__, 0, seconds, reading is not None)
    written = json_of(result)
    again = _parse(data, source, given)[0]
    hold("deterministic", isinstance(again, Paper) and json_of(again) == written, "two results of the same bytes")
    check_paper(result, written)
    if given:
        hold("limits", len(data) <= given.size and len(result.references) <= given.references, f"{given}")
    reading = plain.read(data)
    if reading is not None:
        hold("accepted", reading.paper, "neither <front> nor <back>")
        _agrees(result, reading)
    return Outcome("Paper", len(result.references), seconds, reading is not None)


def check_paper(paper: Paper, written: bytes) -> None:
    """Check the laws of a paper, of whatever format. ``written``: its JSON. Raises Broken."""
    hold("contract", Paper.from_json(written) == paper, "the paper differs from its JSON")
    _strings(orjson.loads(written))
    _paper(paper)
    for reference in paper.references:
        _reference(reference)


def _parse(data: bytes, source: str | None, limits: Limits | None) -> tuple[Paper | ReflinkError, float]:
    start = time.thread_time()
    try:
        result: Paper | ReflinkError = parse(data, source=source, limits=limits)
    except (NotAPaper, TooLarge) as error:
        result = error
    except Exception as error:
        raise Broken(
            "raises", f"{type(error).__name__}: {error}", f"raises {type(error).__name__} in {where(error)}"
        ) from error
    return result, time.thread_time() - start


def where(error: BaseException) -> str:
    """Return the innermost function of reflink in the error's traceback."""
    frames = [item for item in traceback.extract_tb(error.__traceback__) if f"{Path('reflink')}" in Path(item.filename).parts]
    return f"{Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else "nowhere"


def json_of(paper: Paper) -> bytes:
    """Return the paper's JSON. Raises Broken."""
    try:
        return paper.to_json()
    except Exception as error:
        raise Broken("encodes", f"{type(error).__name__}: {error}") from error


def hold(law: str, holds: bool, detail: str, signature: str = "") -> None:
    """Raise Broken unless the law holds."""
    if not holds:
        raise Broken(law, detail[:500], signature)


def check_error(error: ReflinkError, source: str | None) -> None:
    """Check the message of an error. Raises Broken."""
    message = str(error)
    hold("message", len(message.splitlines()) == 1 and (source or "") in message, repr(message))
    _no_secret(message)


def _secrets() -> tuple[str, ...]:
    """Return lines of a file that inputs try to include."""
    try:
        lines = Path("/etc/passwd").read_text(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(line for line in lines if len(line) > 12 and not line.startswith("#"))[:3]


_SECRETS: Final = _secrets()


def _no_secret(text: str) -> None:
    hold("external", not any(secret in text for secret in _SECRETS), "the text of a file that the input named")


def _values(value: Any, name: str = "paper") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _values(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, name)


def _strings(paper: dict[str, Any]) -> None:
    for name, value in _values(paper):
        if found := _FORBIDDEN.search(value):
            raise Broken("characters", f"{name} holds U+{ord(found[0]):04X}: {value[:80]!r}", f"characters in {name}")
        if name == "given_names":  # parallel to the last names, and empty if there is none
            continue
        if name in ("raw_text", "raw_noid", "warnings"):
            hold("lines", not ("\n" in value or "\t" in value or "\r" in value), f"{name}: {value[:80]!r}", f"lines in {name}")
        elif name not in _VERBATIM:
            hold("blank", bool(value.strip()), f"{name} is {value[:80]!r}", f"blank {name}")
            hold("lines", value == " ".join(value.split()), f"{name}: {value[:80]!r}", f"lines in {name}")
        _no_secret(value)


def _identifiers(ids: Ids, where: str) -> None:
    for kind, value in ids:
        if value is not None:
            known = NORMALISERS[kind](value)
            hold("normalised", known == value, f"{where}: {kind} {value!r}, normalised again {known!r}", f"normalised {kind}")


def _year(year: int | None) -> None:
    hold("year", year is None or _FIRST_YEAR <= year <= _LAST_YEAR, str(year))


def _paper(paper: Paper) -> None:
    references = paper.references
    ids = [item.id for item in references]
    hold(
        "unique",
        len(set(ids)) == len(ids),
        f"{next((item for item in ids if ids.count(item) > 1), None)!r} is used more than once",
    )
    hold("positions", [item.position for item in references] == list(range(1, len(ids) + 1)), "not 1, 2, 3")
    hold("citing", all(item.citing == paper.id and item.id.startswith(f"{paper.id}#") for item in references), paper.id)
    hold("id", paper.id.isprintable() and not any(c.isspace() or c == "#" for c in paper.id) and bool(paper.id), repr(paper.id))
    hold("id", all(item.isprintable() and " " not in item for item in ids), "a reference's id is not one word")
    _identifiers(paper.ids, "paper")
    _year(paper.year)


def _reference(reference: Reference) -> None:
    _identifiers(reference.ids, reference.id)
    _identifiers(reference.ids_weak, reference.id)
    strong, weak = (set(ids.to_dict()) for ids in (reference.ids, reference.ids_weak))
    hold("weak", not strong & weak, f"{reference.id}: {strong & weak} in both ids and ids_weak")
    hold("empty", bool(reference.raw_text or strong), f"{reference.id} is empty")
    query = reference.raw_query
    hold("stripped", not extract(query).keys(), f"an identifier is left in {query[:200]!r}")
    if reference.raw_noid is not None:
        hold("stripped twice", strip(query) == query, f"{query[:200]!r} becomes {strip(query)[:200]!r}")
    _year(reference.year)


def _agrees(paper: Paper, reading: plain.Plain) -> None:
    """Check that the paper has the same citations as the plain reading."""
    texts: dict[str | None, set[str]] = {}
    dois: dict[str | None, list[str | None]] = {}
    for entry in reading.entries:
        texts.setdefault(entry.xml_id, set()).update(entry.texts)
        dois.setdefault(entry.xml_id, []).append(entry.doi)
    works = Counter(reference.xml_id for reference in paper.references)
    found: set[str | None] = set()
    order: list[str | None] = []
    for reference in paper.references:
        found.add(reference.xml_id)
        if not order or order[-1] != reference.xml_id:
            order.append(reference.xml_id)
        expected = texts.get(reference.xml_id, set())
        letters = plain.letters(reference.raw_text)
        cut = len(reference.raw_text) >= _CUT - 1
        agrees = not letters or letters in expected or (cut and any(text.startswith(letters) for text in expected))
        if works[reference.xml_id] > 1:  # a citation of several works may be divided
            agrees = agrees or any(letters in text for text in expected)
        hold("text", agrees, f"{reference.id}: {letters[:200]!r} is none of {[text[:200] for text in expected]}")
        if works[reference.xml_id] == 1 and len(doi := dois.get(reference.xml_id, [])) == 1 and doi[0]:
            hold("doi", reference.ids.doi == doi[0], f"{reference.id}: {reference.ids.doi!r}, not {doi[0]!r}")
    for entry in reading.entries:
        hold("lost", entry.xml_id in found or not any(entry.texts), f"nothing of {entry.xml_id!r}: {entry.texts[0][:200]!r}")
    places = iter([entry.xml_id for entry in reading.entries])
    hold("order", all(xml_id in places for xml_id in order), f"{order[:20]}")
