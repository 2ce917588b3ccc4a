"""Compute blocking keys: strings that a reference and the work it cites share, without a search.

A ledger indexes every reference by its keys. When a work is added, corrected or removed, its keys lead to the few references
that may cite it; most works lead to none. A key is the prefix of its family and values of the record:

- ``doi:``, ``pmid:``, ``pmcid:``, ``arxiv:``: an identifier
- ``t:`` the beginning of a title, also a translated one, that is long enough to identify a work
- ``n:`` the first author and the beginning of a title, also a translated one; ``e:`` the first author, the year and the end of
  the title
- ``d:`` the year and a short title, used by references without an author
- ``p:`` year, volume, first page and the title's first letter; ``q:`` the first author, year and first page
- ``a:``, ``y:`` locators (reflink.blocking.locators); references without author or title use ``y:``, also if they are mere text
  (reflink.blocking.untitled)
- ``f:`` the year and three consecutive words of the title, used by references whose title is not tagged

1. A reference has only as many keys as it needs to find its work.
2. The cost of a key is that it also re-evaluates references of other works. ``python -m benchmarks.linking.keys`` measures it.
3. Stores hold the hashes of keys. A change of the rules must raise RULES, and the stores must be rebuilt.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from reflink.blocking.locators import BY_AUTHOR, BY_YEAR, name_words, number, reference_places, work_places
from reflink.entities import ID_KINDS, Reference, Work
from reflink.folding import folded_words

#: Version of the rules for keys.
RULES: Final = 4
#: Maximum number of keys of a record.
MAX_KEYS: Final = 16

#: Letters of a title in a ``t:`` key; minimum letters or bytes of a title that identifies a work alone; letters of a title's
#: beginning beside a name, and of a title's end.
_TITLE: Final = 48
_MIN_LETTERS: Final = 20
_BESIDE_NAME: Final = 24
_ENDING: Final = 12

#: Fingerprints: words per run, runs per window, and minimum letters of a word that counts.
_RUN: Final = 3
_WINDOW: Final = 3
_LONG_WORD: Final = 4

#: Maximum number of translated titles of a work that make keys.
_MAX_TRANSLATIONS: Final = 3
#: Maximum characters read of a title, an untagged citation, a name and a number. Longer values come from broken records.
_MAX_TITLE: Final = 1000
_MAX_TEXT: Final = 1500
_MAX_NAME: Final = 300
_MAX_NUMBER: Final = 100

_ARTICLES: Final = frozenset(("a", "an", "the"))
_TAG: Final = re.compile("</?[A-Za-z][^<>]{0,80}>")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)", re.ASCII)
#: Volume and first page in an untagged citation: "39(2): 783", "2016, 39, 783" and "39, pp. 783".
_PLACE: Final = re.compile(
    r"(?<!\d)(?!(?:1[89]|20)\d\d\D)(\d{1,4})\s?(?:\([^()]{0,20}\)\s?)?[:,]\s?(?:pp?\.?\s?)?[A-Za-z]?(\d{1,7})(?!\d)", re.ASCII
)
#: Of an untagged citation: the number of first words that include the first author's name, and the maximum number of years,
#: names and locators that are read.
_NAMES_WITHIN: Final = 8
_MAX_READ: Final = 2


def hashed(key: str) -> bytes:
    """Return the form of the key in stores: 8 bytes, equal on all machines and in all versions."""
    return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()


def work_key(work_id: str) -> str:
    """Return the key by which a ledger indexes the references that cite this work."""
    return f"w:{work_id}"


def work_keys(work: Work) -> tuple[str, ...]:
    """Return the distinct keys of a work, at most MAX_KEYS."""
    author = work.authors[0] if work.authors else None
    words = title_words(work.title or work.venue or "")
    letters = "".join(words)
    keys = [*work.ids.keys()]
    if work.id.partition(":")[0] in ID_KINDS:
        keys.append(work.id)
    keys += _described(letters, author, work.year, work.volume, work.fpage)
    if letters and work.year is not None and not _is_selective(letters):
        keys.append(f"d:{work.year}:{letters}")
    keys += work_places(work)
    if work.year is not None:
        keys += [f"f:{work.year}:{run}" for run in fingerprints(words)]
    for title in work.translated_titles[:_MAX_TRANSLATIONS]:  # last, so that they displace no other key
        keys += _described("".join(title_words(title)), author, None, None, None)
    return tuple(dict.fromkeys(keys))[:MAX_KEYS]


def reference_keys(reference: Reference) -> tuple[str, ...]:
    """Return the distinct keys that the cited work should have, at most MAX_KEYS.

    The keys of an untagged reference come from its recognised fields.
    """
    fields = reference.inferred or reference
    author = fields.last_names[0] if fields.last_names else reference.collab
    title = fields.title or reference.chapter_title
    # A work with a volume is in a journal. Without a volume the venue may be the cited book.
    book = None if fields.volume else fields.venue
    letters = "".join(title_words(title or book or ""))
    keys = [*reference.ids.keys(), *reference.ids_weak.keys()]
    keys += _described(letters, author, fields.year, fields.volume, fields.first_page)
    if letters and not author and fields.year is not None and not _is_selective(letters):
        keys.append(f"d:{fields.year}:{letters}")
    places = reference_places(reference)
    keys += [place for place in places if place.startswith(BY_AUTHOR)] if title and author else places
    for other in (reference.chapter_title, reference.translated_title):
        if other and other is not title and _is_selective(letters := "".join(title_words(other))):
            keys.append(f"t:{letters[:_TITLE]}")
    if title and book and author and (words := _names(author)) and (letters := "".join(title_words(book))):
        keys.append(f"n:{words[0]}:{letters[:_BESIDE_NAME]}")
    if reference.inferred or not title:
        keys += _written(reference.raw_query[:_MAX_TEXT])
    return tuple(dict.fromkeys(keys))[:MAX_KEYS]


def _described(letters: str, author: str | None, year: int | None, volume: str | None, page: str | None) -> Iterator[str]:
    """Yield the keys of a folded title, the first author, year, volume and page, most selective first."""
    names = _names(author) if author else ()
    page = number(page[:_MAX_NUMBER]) if page else ""
    if letters and _is_selective(letters):
        yield f"t:{letters[:_TITLE]}"
    for name in names[:1]:
        if letters:
            yield f"n:{name}:{letters[:_BESIDE_NAME]}"
        if year is not None:
            if letters:
                yield f"e:{name}:{year}:{letters[-_ENDING:]}"
            if page:
                yield f"q:{name}:{year}:{page}"
    if letters and year is not None and page and volume and (volume := number(volume[:_MAX_NUMBER])):
        yield f"p:{year}:{volume}:{page}:{letters[0]}"


def _written(text: str) -> Iterator[str]:
    """Yield the keys of an untagged citation: locators and fingerprints that its work may have."""
    words = _folded(text)
    years = tuple(dict.fromkeys(_YEAR.findall(text)))[:_MAX_READ]
    names = [word for word in words[:_NAMES_WITHIN] if len(word) > 1 and not word.isdigit()][:_MAX_READ]
    for volume, page in _PLACE.findall(text)[-_MAX_READ:]:
        place = f":{number(volume)}:{number(page)}"
        yield from (f"{BY_AUTHOR}{word}{place}" for name in names for word in name_words(name[:_MAX_NAME])[:1])
        yield from (f"{BY_YEAR}{year}{place}" for year in years)
    chosen = fingerprints(words)
    yield from (f"f:{year}:{run}" for year in years for run in chosen)


def title_words(title: str) -> list[str]:
    """Return the words of a title without case, accents and markup.

    Words that vary between spellings of a title are removed: a leading article, "&" and "and", and a final "in", since
    Frontiers and others write “Title,” in Book.
    """
    title = title[:_MAX_TITLE]
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
    """Return runs of long words by winnowing: of each window of runs, the one with the smallest hash; distinct, in order.

    A run has _RUN consecutive words of at least _LONG_WORD letters, a window _WINDOW consecutive runs. Two texts that share
    _RUN + _WINDOW - 1 consecutive long words share a fingerprint. All runs of a text shorter than a window are returned, since
    each may have the smallest hash of a window in a longer text.
    """
    long_words = [word for word in words if len(word) >= _LONG_WORD]
    runs = [" ".join(long_words[at : at + _RUN]) for at in range(len(long_words) - _RUN + 1)]
    if len(runs) < _WINDOW:
        return list(dict.fromkeys(runs))
    hashes = [(zlib.crc32(run.encode(errors="surrogatepass")), run) for run in runs]
    return list(dict.fromkeys(min(hashes[at : at + _WINDOW])[1] for at in range(len(hashes) - _WINDOW + 1)))


def _folded(text: str) -> list[str]:
    # Composed form, since separate accents hide that a text was read in the wrong encoding.
    return folded_words(text if text.isascii() else unicodedata.normalize("NFC", text))


def _names(author: str) -> tuple[str, ...]:
    return name_words(author[:_MAX_NAME])


def _is_selective(letters: str) -> bool:
    """Whether a folded title is long enough to belong to few works, in letters or bytes.

    Bytes count because a Chinese letter is as selective as several Latin ones.
    """
    return len(letters) >= _MIN_LETTERS or len(letters.encode(errors="surrogatepass")) >= _MIN_LETTERS
