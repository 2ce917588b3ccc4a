"""The plain definition of the evidence of a pair, without shortcuts or caches.

Written from the meaning of the evidence, not from its code: of reflink.verdict only lists of words and limits are used.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache

import numpy as np

from reflink.blocking.untitled import fields_of, in_supplement, title_proper
from reflink.entities import ID_KINDS, Ids, Reference, Work
from reflink.folding import _LETTERS
from reflink.verdict.evidence import Evidence
from reflink.verdict.rules import PARTICLES, SUFFIXES, VENUE_STOP, YEAR_LIMIT
from reflink.verdict.titles import marks

ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10, "xi": 11, "xii": 12}
SILENT = math.nan
#: "Part B", "trial A", and Roman numerals of one letter that punctuation or a word shows to be numbers ("I: Theory").
_PART = re.compile(
    r"\b(?:[Pp]art|PART|[Tt]rial|[Pp]aper|[Ss]ection|[Vv]olume|[Bb]ook|[Ss]tudy)\s+([A-Z]|[IVXivx]+)\b|(?<![\w.])([IVX])\s*[:.)]"
)


def fold(text: str) -> str:
    """Compare letter by letter."""
    for scrambled in sorted(set(re.findall("[ÂÃÄÅÎÏÐâã][^ -~\\s]{1,3}", text)), key=len, reverse=True):
        text = text.replace(scrambled, unscrambled(scrambled))
    kept = []
    for char in unicodedata.normalize("NFKD", "".join(unicodedata.normalize("NFKD", each).lower() for each in text)):
        name = unicodedata.name(char, "")
        if char in "'’ʼ`´" or unicodedata.category(char) in ("Cf", "Mn"):
            continue
        if name.startswith("GREEK SMALL LETTER "):
            kept.append(re.split("[^A-Z]", name.removeprefix("GREEK SMALL LETTER ").removeprefix("FINAL "))[0].lower())
        else:
            kept.append(_LETTERS.get(char, char if char.isalnum() else " "))
    return " ".join("".join(kept).split())


def unscrambled(text: str) -> str:
    try:
        return text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text


def grams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text) - 2)} if len(text) > 2 else {text} - {""}


def name_words(name: str) -> set[str]:
    words = re.sub("(?<=[aou])e", "", fold(name)).split()
    return {w for w in words if len(w) > 1 and w not in PARTICLES | SUFFIXES} or set(words)


def slips(x: str, y: str) -> int:
    """The definition: the last letters agree, or one was changed, added, dropped, or the last two swapped."""

    @cache
    def upto(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = [upto(i - 1, j - 1) + (x[i - 1] != y[j - 1]), upto(i - 1, j) + 1, upto(i, j - 1) + 1]
        if x[:i][-2:] == y[:j][-2:][::-1] and i > 1 and j > 1:
            ways.append(upto(i - 2, j - 2) + 1)
        return min(ways)

    return upto(len(x), len(y))


def agreement(a: set[str], b: set[str]) -> float:
    """Compare two names."""
    if a & b:
        return 1.0
    for x, y in [("".join(sorted(a)), "".join(sorted(b))), *((x, y) for x in a for y in b)]:
        short = min(len(x), len(y))
        if short >= 5 and slips(x, y) <= (2 if short >= 8 else 1):
            return 0.8
    return 0.0


def volume_key(volume: str | None) -> str:
    text = fold(volume or "")
    if found := re.findall(r"\d+", text):
        return found[0].lstrip("0") or "0"
    return str(ROMAN.get(text, text))


def page_key(page: str | None) -> str:
    text = fold(page or "")
    if page and not any(char.isdigit() for char in page):
        text = text.replace(" ", "")
    if not (found := re.search(r"[a-z]*\d+", text)):
        return str(ROMAN.get(text, text))
    letters = found[0].rstrip("0123456789")  # digits of other scripts count as letters
    return letters + (found[0].removeprefix(letters).lstrip("0") or "0")


def numbers(title: str) -> set[str]:
    words = fold(title).split()
    parts = [(a or b).lower() for a, b in _PART.findall(title)] + [word for word in words if len(word) > 1]
    romans = {str(ROMAN[part]) for part in parts if part in ROMAN}
    letters = {(a or b).lower() for a, b in _PART.findall(title)} - set(ROMAN)
    return {number for word in words for number in re.findall(r"\d+", word)} | romans | letters


def year_numbers(found: set[str]) -> set[int]:
    return {int(number) for number in found if re.fullmatch(r"1[5-9]\d\d|20\d\d", number)}


def said_year(year: int | None) -> int | None:
    return year if year is not None and abs(year) < YEAR_LIMIT else None


def shared(reference: Ids, work: Ids) -> bool | None:
    both = [(a, b) for kind in ID_KINDS if (a := getattr(reference, kind)) and (b := getattr(work, kind))]
    return any(a == b for a, b in both) if both else None


def venue_words(venue: str) -> list[str]:
    words = fold(venue.split("(")[0] or venue).split()[:12]
    return [word for word in words if word not in VENUE_STOP] or words


def abbreviates(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return short[0] == long[0] and re.search(".*".join(map(re.escape, short)), long) is not None


def venues(a: str, b: str) -> float:
    x, y = venue_words(a), venue_words(b)
    if not x or not y:
        return SILENT
    for one, other in ((x, y), (y, x)):
        if len(one) == 1 < len(other) and len(one[0]) > 2 and "".join(word[0] for word in other).startswith(one[0]):
            return 1.0

    @cache
    def alike(i: int, j: int) -> int:
        if not i or not j:
            return 0
        return max(alike(i - 1, j), alike(i, j - 1), alike(i - 1, j - 1) + abbreviates(x[i - 1], y[j - 1]))

    return alike(len(x), len(y)) / max(len(x), len(y))


def venue_in_text(venue: str, words: list[str]) -> float:
    """The share of a venue's words that follow each other in a citation, shortened or not, if half of them do."""
    named = venue_words(venue)
    if not named:
        return SILENT

    def after(at: int) -> int:
        """The next word that counts."""
        return next((each for each in range(at + 1, len(words)) if words[each] not in VENUE_STOP), len(words))

    def number_follows(at: int) -> bool:
        return at >= len(words) or any(word[0] in "0123456789" for word in words[at : at + 2])

    best = 0
    for at, word in enumerate(words):
        if len(named) == 1:
            (name,) = named
            short, long = sorted((word, name), key=len)
            if word == name or (len(short) >= 4 and long.startswith(short)):
                if number_follows(at + 1):
                    return 1.0
                continue
            spelled, here = 0, at
            while spelled < len(name) and here < len(words) and words[here][0] == name[spelled]:
                spelled, here = spelled + 1, after(here)
            if len(name) >= 3 and spelled == len(name) and number_follows(here):
                return 1.0
            continue
        is_long = len(word) >= 4 or len(word) == len(named) == 3
        if is_long and word == "".join(each[0] for each in named)[: len(word)]:
            return 1.0
        matched, here, longest = 0, at, 0
        while matched < len(named) and here < len(words) and abbreviates(words[here], named[matched]):
            longest = max(longest, len(words[here]))
            matched, here = matched + 1, after(here)
        if matched > 1 and longest >= 3:
            best = max(best, matched)
    return best / len(named) if best / len(named) >= 0.5 else 0.0


def article_number(work: Work) -> str:
    """The number that ends a DOI, of four digits or more, without leading zeros; "-6" is a check digit; no year."""
    found = re.search("([0-9]+)$", re.sub("-.$", "", (work.ids.doi or "")[-14:], flags=re.DOTALL))
    return found[1].lstrip("0") if found and len(found[1]) >= 4 and not year_numbers({found[1]}) else ""


def number_in(word: str) -> str:
    """The first number of a word, without leading zeros."""
    found = re.search("[0-9]+", word)
    return (found[0].lstrip("0") or "0") if found else ""


def words_of_text(raw: str) -> set[str]:
    """Words of a citation: as they are, without transliteration of umlauts, and their numbers ("20429" of "e20429")."""
    found = set(raw.split())
    for word in raw.split():
        number = number_in(word)
        if not number:
            found.add(re.sub("(?<=[aou])e", "", word))
        elif word[0] in "0123456789" or len(number) >= 3:
            found.add(number)
    return found


def names_only_a_group(names: list[set[str]]) -> bool:
    return len(names) == 1 and len(names[0]) > 2


def evidence(reference: Reference, work: Work, *, by_identifier: bool = False) -> Evidence:
    """As reflink.verdict.evidence, to twelve decimals."""
    only = fields_of(reference)
    if only is not None:
        reference = reference.model_copy(update={**only._asdict(), "raw_text": "", "raw_noid": None})
    reference, work = (each.model_copy(update={"year": said_year(each.year)}) for each in (reference, work))
    if not reference.title and not reference.chapter_title and not reference.volume and reference.venue:
        reference = reference.model_copy(update={"title": reference.venue, "venue": reference.publisher or reference.venue})
    title = (reference.title or reference.chapter_title or "")[:400]
    other = (work.title or (None if work.volume else work.venue) or "")[:400]
    x, y = fold(title).replace(" ", ""), fold(other).replace(" ", "")
    raw = fold(reference.raw_query[:1500])
    text, raw_words = raw.replace(" ", ""), words_of_text(raw)
    names = [name_words(name[:300]) for name in reference.last_names[:40]]
    work_names = [name_words(name[:300]) for name in work.authors[:40]]
    found: dict[str, float] = {"length": len(y)}
    if x and y:
        a, b = grams(x), grams(y)
        j, c = len(a & b) / len(a | b), len(a & b) / min(len(a), len(b))
        short, long = sorted((x, y), key=len)
        begins = len(short) >= 20 and long.startswith(short) and len(long) > len(short) + 12
        found |= {"title": 2 * j * c / (j + c) if c else 0.0, "equal": x == y, "cover": c, "beginning": begins}
    if y and text:
        found["contained"] = len(grams(y) & grams(text)) / len(grams(y))

    grouped = not names and bool(reference.collab or reference.collectives)
    if names and work_names:
        less, more = sorted((names, work_names), key=len)
        each = [max(agreement(name, one) for one in more) for name in less]
        found |= {"agreeing": sum(each), "authors": sum(each) / len(each), "first_author": agreement(names[0], work_names[0])}
        if len(less) > 1:
            found["second_author"] = agreement(names[1], work_names[1])
    elif work_names and raw_words:
        there = [bool(name & raw_words) and (name <= raw_words or len(name) == 2) for name in work_names[:3]]
        if any(there) or not grouped:
            compared = len(there)
            if re.search(r"\bet al\b", raw):
                compared = max((at + 1 for at, one in enumerate(there) if one), default=1)
            found |= {"agreeing": sum(there), "authors": sum(there) / compared, "first_author": there[0]}
    if found.get("agreeing") == 0:
        begins_with = x or y
        unnamed = not names and len(begins_with) >= 20 and text.startswith(begins_with)
        if names_only_a_group(work_names) or names_only_a_group(names) or unnamed:
            found |= dict.fromkeys(("agreeing", "authors", "first_author", "second_author"), SILENT)
    found["group"] = grouped or bool(work_names and len(work_names[0]) > 2)

    years = [int(year) for year in re.findall(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)", raw)]
    others = [year for at, year in enumerate(years) if year in years[:at] or year not in year_numbers(numbers(other))]
    years = (others or years) if reference.year is None else [reference.year]
    if years and work.year is not None:
        found["year"] = min(abs(year - work.year) for year in years)
    found |= place(volume_key(reference.volume), page_key(reference.first_page), work, raw)
    if work.venue and reference.venue:
        found["venue"] = venues(reference.venue, work.venue)
    elif work.venue and len(name := fold(work.venue).replace(" ", "")) >= 6 and name in text:
        found["venue"] = 1.0
    elif work.venue and text:
        found["venue"] = venue_in_text(work.venue, raw.split())
    if text and not (beside := numbers_beside(raw, other)) - {volume_key(work.volume)}:
        found |= {
            name: 1.0 if beside and name == "volume" else SILENT for name in ("volume", "page") if found.get(name) == 0.25
        }

    found |= told_by_titles(title if x else "", other if y else "", reference, work, raw)
    if re.match(r"10\.(1101/[0-9]|48550|21203|2139|20944|31219|31234|6084|5061|5281|17632|7910)", work.ids.doi or ""):
        names_one = "rxiv|pre-?print|\\bssrn\\b|research square|figshare|dryad|zenodo|mendeley data|dataverse"
        found["deposit"] = not re.search(names_one, f"{reference.venue} {reference.raw_query[:1500]}".lower())
    identifier = True if by_identifier else shared(reference.ids, work.ids)
    if identifier is None and shared(reference.ids_weak, work.ids):
        identifier = True
    if identifier is not None:
        found["identifier"] = identifier
    tagged = names or reference.venue or reference.volume or reference.first_page
    found |= {"bare": not x and not names and len(raw) < 8, "card": 0 if x else 1 if tagged else 2}
    if only is not None and not only.last_names:
        found |= {"bare": False, "card": 3}
        if found.get("page") and in_supplement(only.first_page) != in_supplement(work.fpage or ""):
            found["page"] = 0.0
        elif found.get("page") and work.venue:
            found["venue"] = np.fmax(found["venue"], venues(only.venue, title_proper(work.venue)))
    return Evidence(**{name: float(value) for name, value in found.items()})


def place(volume: str, page: str, work: Work, raw: str) -> dict[str, float]:
    """Volume and page; in the text, a number of one digit counts only in "volume, perhaps an issue, page"."""
    found: dict[str, float] = {}
    work_volume, work_page = volume_key(work.volume), page_key(work.fpage)
    words, article = raw.split(), article_number(work)
    anywhere = words_of_text(raw)

    def beside(pages: set[str]) -> bool:
        """The volume, and at most one word later one of these pages, which may be in a word with letters."""
        return any(
            work_volume in (a, number_in(a)) and any({each, number_in(each)} & pages for each in (b, c))
            for a, b, c in zip(words, [*words[1:], ""], [*words[2:], "", ""], strict=False)
        )

    number = re.sub("^[a-z]+", "", work_page)
    together = bool(work_volume and work_page) and beside({work_page, number} - {""})
    together = together or bool(work_volume and len(article) > 1 and beside({article}))
    if work_volume and volume:
        cut = any(a.startswith(b) or a.endswith(b) for a, b in ((volume, work_volume), (work_volume, volume)))
        found["volume"] = 1.0 if volume == work_volume else 0.5 if cut else 0.0
    elif work_volume and words:
        found["volume"] = 1.0 if together or (len(work_volume) > 1 and work_volume in anywhere) else 0.25
    if work_page and page:
        digits, work_digits = (re.sub("^[a-z]+", "", each) for each in (page, work_page))
        same = page == work_page
        without_letter = bool(digits) and digits == work_digits and (page == digits or work_page == digits)
        shown = work_page if same else digits
        weak = len(shown) == 1 or re.fullmatch(r"cd\d{3,6}", shown)
        found["page"] = 0.5 if weak else 1.0
        if not same and not without_letter:
            short, long = sorted((page, work_page), key=len)
            series = any(len(each) == 1 or re.fullmatch(r"cd\d{3,6}", each) for each in (page, work_page))
            prefixes = page.removesuffix(digits) == work_page.removesuffix(work_digits)
            near = not series and prefixes and min(len(digits), len(work_digits)) >= 3 and slips(digits, work_digits) <= 1
            found["page"] = SILENT if short == "1" and len(long) >= 3 else 0.75 if near else 0.0
    elif work_page and words:
        seen = (len(work_page) > 1 and work_page in anywhere) or (len(number) >= 3 and number in anywhere)
        found["page"] = 1.0 if together or seen else 0.25
    in_text = not page and (together or len(article) >= 3) and article in anywhere
    cited = (page and re.sub("^[a-z]+", "", page) == article) or in_text
    if len(article) > 1 and cited and found.get("page", 0) != 0.5:
        found["page"] = 1.0
    return found


def numbers_beside(raw: str, title: str) -> set[str]:
    """The numbers that are neither years nor in the title of the work."""
    romans = {str(ROMAN[word]) for word in raw.split() if len(word) > 1 and word in ROMAN}
    found = romans | {number for word in raw.split() for number in re.findall(r"\d+", word)}
    return found - {number for number in found if year_numbers({number})} - numbers(title)


def told_by_titles(title: str, other: str, reference: Reference, work: Work, raw: str) -> dict[str, float]:
    """Numbers, years and marks of two titles, or of the work's and the text."""
    found: dict[str, float] = {}
    a, b, text = numbers(title), numbers(other), numbers(reference.raw_query[:1500])
    a_years, b_years = year_numbers(a), year_numbers(b)
    a, b = a - set(map(str, a_years)), b - set(map(str, b_years))
    same = fold(title).replace(" ", "") == fold(other).replace(" ", "")
    if title and other:
        beside = set(re.findall(r"(?<!\d)(\d+)(?:st|nd|rd|th)\b", raw))
        found["numbers"] = 0 if same else bool(a - b) + bool(b - beside - a)
        published, other_published = ({y for y in (one.year,) if y is not None} for one in (reference, work))
        if reference.year is None:
            published = {int(year) for year in re.findall(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)", raw)}
        if a_years and b_years:
            if a_years == b_years or not a_years & b_years:
                found["title_year"] = a_years == b_years
        elif a_years or b_years:
            named, when = (a_years, other_published) if a_years else (b_years, published)
            if len(when) == 1 and when <= named:
                found["title_year"] = 1
            elif len(named) > 1:
                pass  # the years of the data
            elif published and other_published and not published & other_published and not when & named:
                found["title_year"] = 0
        found["marks"] = marks(title, fold(title).split()) != marks(other, fold(other).split())
    elif other and raw:
        found["numbers"] = bool(b - text)
        if b_years and (set(map(str, b_years)) <= text or len(b_years) == 1):
            found["title_year"] = set(map(str, b_years)) <= text
        words = words_of_text(raw)
        first = re.search(r"\b(?:(erratum|corrigendum|corrigenda|rejoinder)|(reply|response) to|(comments?) on)\b", raw)
        of_text = {each for each in first.groups() if each} if first else set()
        work_marks = marks(other, fold(other).split())
        found["marks"] = bool(work_marks - words or of_text - work_marks)
    return found
