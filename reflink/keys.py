"""Keys: what a reference and the work it cites have in common, known without any search.

A ledger files every reference under its keys. When a work arrives, is corrected or goes, its keys lead to the few references
that may cite it; most works lead to none. A key says its family, then what both sides say for themselves:

- ``doi:``, ``pmid:``, ``pmcid:``, ``arxiv:``: an identifier
- ``t:`` how the title begins, far enough to say it alone
- ``n:`` the first author and how the title begins, ``e:`` the first author, the year and how it ends
- ``d:`` the year and a short title, asked by references without an author
- ``p:`` year, volume, first page and the title's first letter, ``q:`` the first author, year and first page
- ``a:``, ``y:`` the places of print (reflink.places); ``y:`` is asked by references without author or title
- ``f:`` the year and three words of the title that follow each other, asked by references whose title is not tagged

Every reference asks as little as finds its work: what a key costs is that it wakes references of other works. Figures:
``python -m benchmarks.keys``.

Stores hold the keys' hashes. Where keys are made otherwise one day, RULES must be raised and the stores made anew.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from reflink.entities import ID_KINDS, Reference, Work
from reflink.places import BY_AUTHOR, BY_YEAR, name_words, number, reference_places, work_places
from reflink.verdict.folding import folded_words

#: Which rules the keys follow.
RULES: Final = 1
#: Keys of one record, at most.
MOST_KEYS: Final = 16

#: Letters of a title that make a key, and bytes of a title that says enough alone.
_TITLE: Final = 48
_ENOUGH: Final = 20
_BESIDE_NAME: Final = 24
_ENDING: Final = 12

#: Fingerprints: words in a run, runs of which one is chosen, and letters of a word that counts.
_RUN: Final = 3
_WINDOW: Final = 3
_TELLING: Final = 4

#: What is read of a title, a citation as written, a name and a number, in characters: longer ones are broken records.
_LONGEST: Final = 1000
_LONGEST_TEXT: Final = 1500
_LONGEST_NAME: Final = 300
_LONGEST_NUMBER: Final = 100

_ARTICLES: Final = frozenset(("a", "an", "the"))
_TAG: Final = re.compile("</?[A-Za-z][^<>]{0,80}>")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)", re.ASCII)
#: "39(2): 783", "2016, 39, 783" and "39, pp. 783", of a citation as written.
_PLACE: Final = re.compile(
    r"(?<!\d)(?!(?:1[89]|20)\d\d\D)(\d{1,4})\s?(?:\([^()]{0,20}\)\s?)?[:,]\s?(?:pp?\.?\s?)?[A-Za-z]?(\d{1,7})(?!\d)", re.ASCII
)
#: Of a citation as written: words among which the first author's name is, and how many years, names and places are read.
_NAMES_WITHIN: Final = 8
_MOST_READ: Final = 2


def hashed(key: str) -> bytes:
    """The key as stores hold it: 8 bytes, the same for ever and everywhere."""
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()


def work_key(work_id: str) -> str:
    """The key under which the references that cite this very work are filed."""
    return f"w:{work_id}"


def work_keys(work: Work) -> tuple[str, ...]:
    """The keys of a work, each once, at most MOST_KEYS."""
    author = work.authors[0] if work.authors else None
    words = title_words(work.title or work.venue or "")
    letters = "".join(words)
    keys = [*work.ids.keys()]
    if work.id.partition(":")[0] in ID_KINDS:
        keys.append(work.id)
    keys += _described(letters, author, work.year, work.volume, work.fpage)
    if letters and work.year is not None and not _enough(letters):
        keys.append(f"d:{work.year}:{letters}")
    keys += work_places(work)
    if work.year is not None:
        keys += [f"f:{work.year}:{run}" for run in fingerprints(words)]
    return tuple(dict.fromkeys(keys))[:MOST_KEYS]


def reference_keys(reference: Reference) -> tuple[str, ...]:
    """The keys that the cited work should have, each once, at most MOST_KEYS; of recognised fields where nothing was tagged."""
    said = reference.inferred or reference
    author = said.last_names[0] if said.last_names else reference.collab
    title = said.title or reference.chapter_title
    # What has a volume is in a journal; else the venue may be the book that is cited.
    book = None if said.volume else said.venue
    letters = "".join(title_words(title or book or ""))
    keys = [*reference.ids.keys(), *reference.ids_weak.keys()]
    keys += _described(letters, author, said.year, said.volume, said.first_page)
    if letters and not author and said.year is not None and not _enough(letters):
        keys.append(f"d:{said.year}:{letters}")
    places = reference_places(reference)
    keys += [place for place in places if place.startswith(BY_AUTHOR)] if title and author else places
    for other in (reference.chapter_title, reference.translated_title):
        if other and other is not title and _enough(letters := "".join(title_words(other))):
            keys.append(f"t:{letters[:_TITLE]}")
    if title and book and author and (words := _names(author)) and (letters := "".join(title_words(book))):
        keys.append(f"n:{words[0]}:{letters[:_BESIDE_NAME]}")
    if reference.inferred or not title:
        keys += _written(reference.raw_query[:_LONGEST_TEXT])
    return tuple(dict.fromkeys(keys))[:MOST_KEYS]


def _described(letters: str, author: str | None, year: int | None, volume: str | None, page: str | None) -> Iterator[str]:
    """Keys of a folded title, the first author and the place of print, most telling first."""
    names = _names(author) if author else ()
    page = number(page[:_LONGEST_NUMBER]) if page else ""
    if letters and _enough(letters):
        yield f"t:{letters[:_TITLE]}"
    for name in names[:1]:
        if letters:
            yield f"n:{name}:{letters[:_BESIDE_NAME]}"
        if year is not None:
            if letters:
                yield f"e:{name}:{year}:{letters[-_ENDING:]}"
            if page:
                yield f"q:{name}:{year}:{page}"
    if letters and year is not None and page and volume and (volume := number(volume[:_LONGEST_NUMBER])):
        yield f"p:{year}:{volume}:{page}:{letters[0]}"


def _written(text: str) -> Iterator[str]:
    """Keys of a citation as written: the places and fingerprints that may be its work's."""
    words = _folded(text)
    years = tuple(dict.fromkeys(_YEAR.findall(text)))[:_MOST_READ]
    names = [word for word in words[:_NAMES_WITHIN] if len(word) > 1 and not word.isdigit()][:_MOST_READ]
    for volume, page in _PLACE.findall(text)[-_MOST_READ:]:
        place = f":{number(volume)}:{number(page)}"
        yield from (f"{BY_AUTHOR}{word}{place}" for name in names for word in name_words(name[:_LONGEST_NAME])[:1])
        yield from (f"{BY_YEAR}{year}{place}" for year in years)
    chosen = fingerprints(words)
    yield from (f"f:{year}:{run}" for year in years for run in chosen)


def title_words(title: str) -> list[str]:
    """The words of a title without case, accents and markup; without what is set now so, now otherwise: "The", "&" and "in".

    Frontiers and others write “Title,” in Book.
    """
    title = title[:_LONGEST]
    if "&" in title:
        title = html.unescape(title)
    if "<" in title:
        title = _TAG.sub("", title)
    words = _folded(title)
    if "and" in words:
        words = [word for word in words if word != "and"]
    if len(words) > 1 and words[0] in _ARTICLES:
        del words[0]
    if len(words) > 1 and words[-1] == "in":
        words.pop()
    return words


def fingerprints(words: Sequence[str]) -> list[str]:
    """Runs of telling words, of every few the one with the least hash, in order and each once.

    Two texts with _RUN + _WINDOW - 1 telling words in common, one after the other, have a run in common. Of a shorter text
    all runs are chosen: any may be the least where it stands in a longer one.
    """
    telling = [word for word in words if len(word) >= _TELLING]
    runs = [" ".join(telling[at : at + _RUN]) for at in range(len(telling) - _RUN + 1)]
    if len(runs) < _WINDOW:
        return list(dict.fromkeys(runs))
    hashes = [(zlib.crc32(run.encode(errors="surrogatepass")), run) for run in runs]
    return list(dict.fromkeys(min(hashes[at : at + _WINDOW])[1] for at in range(len(hashes) - _WINDOW + 1)))


def _folded(text: str) -> list[str]:
    # Composed: an accent that stands alone hides that text was read in a wrong encoding.
    return folded_words(text if text.isascii() else unicodedata.normalize("NFC", text))


def _names(author: str) -> tuple[str, ...]:
    return name_words(author[:_LONGEST_NAME])


def _enough(letters: str) -> bool:
    """Whether a folded title is that of few works. In bytes: a letter of Chinese says as much as some of Latin."""
    return len(letters) >= _ENOUGH or len(letters.encode(errors="surrogatepass")) >= _ENOUGH
