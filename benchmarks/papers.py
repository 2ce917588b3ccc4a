"""Papers for benchmarks and tests: any number of generated ones, and the real articles of the shared data."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from reflink.entities import Reference, Work
from reflink.errors import ReflinkError
from reflink.jats import parse
from tests.data import jats_folder

PREFIX = "10.5555/reflink.made"


def real_papers(seed: int | None = None) -> Iterator[tuple[str, bytes, Sequence[Reference]]]:
    """Yield name, bytes and references of the real articles that parse: by name, or in a random order if given a seed."""
    paths = sorted(jats_folder().glob("*.xml"))
    if seed is not None:
        random.Random(seed).shuffle(paths)
    for path in paths:
        content = path.read_bytes()
        try:
            references = parse(content).references
        except ReflinkError:
            continue
        yield path.stem, content, references


def real_references(seed: int | None = None) -> Iterator[Reference]:
    """Yield the references of the real articles, paper by paper in the order of ``real_papers``."""
    for _, _, references in real_papers(seed):
        yield from references


def made_paper(number: int, works: Sequence[Work], references: int = 15) -> bytes:
    """Return a generated paper with a DOI; references are tagged (some with a DOI), raw text, or to works that do not exist."""
    choice = random.Random(number)
    entries = [_entry(position, choice.choice(works), choice) for position in range(1, references + 1)]
    return (
        "<article><front><journal-meta><journal-title-group><journal-title>Made Papers</journal-title></journal-title-group>"
        f'</journal-meta><article-meta><article-id pub-id-type="doi">{PREFIX}.{number:05d}</article-id><title-group>'
        "<article-title>"
        f"Made paper number {number}</article-title></title-group><pub-date><year>2026</year></pub-date></article-meta></front>"
        f"<back><ref-list>{''.join(entries)}</ref-list></back></article>"
    ).encode()


def _entry(position: int, work: Work, choice: random.Random) -> str:
    title, venue = escape(work.title or ""), escape(work.venue or "")
    names = "".join(f"<name><surname>{escape(name)}</surname></name>" for name in work.authors)
    place = f"<volume>{work.volume or ''}</volume>: <fpage>{work.fpage or ''}</fpage>"
    tail = f"<source>{venue}</source> <year>{work.year or ''}</year>; {place}"
    match choice.randrange(4):
        case 0:
            doi = f'<pub-id pub-id-type="doi">{escape(work.ids.doi)}</pub-id>' if work.ids.doi else ""
            body = f"{names}<article-title>{title}</article-title>{tail}{doi}"
        case 1:
            body = f"{names}<article-title>{title}</article-title>{tail}"
        case 2:
            body = f"{escape(' '.join(work.authors))}. {title}. {venue} {work.year}; {work.volume}: {work.fpage}."
        case _:
            word = choice.randrange(10**6)
            name, title = f"<name><surname>Nobody{word}</surname></name>", f"An unheard-of matter {word}"
            body = f"{name}<article-title>{title}</article-title><year>2020</year>"
    return f'<ref id="r{position}"><mixed-citation>{body}</mixed-citation></ref>'
