"""Print tagged fields as citations in many styles: training data with more variety than the articles have.

Many publishers give fields without punctuation. This module prints such a record in the styles of journals and books of many
disciplines and scripts. All random choices come from a generator that the caller seeds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from reflink.recognition import labels as tag
from reflink.recognition import templates
from reflink.recognition.labelled import Labelled
from reflink.recognition.tokens import tokenise

_CAPITALS: Final = "ABCDEFGHIJKLMNOPRSTVW"
_WHOLE: Final = re.compile(r"[^\W\d_][a-zà-ÿ]{2,}")
_FIELD: Final = re.compile(r"\{(.)\}")
_LETTERS: Final = {
    "T": tag.T, "V": tag.V, "P": tag.P, "Y": tag.Y, "N": tag.N, "I": tag.I, "F": tag.F, "E": tag.E, "C": tag.C, "l": tag.P,
    "M": tag.V,
}  # fmt: skip

Run = tuple[str, int]


def render(record: Labelled, others: Sequence[Labelled], rng: random.Random) -> Labelled | None:
    """Return ``record`` printed in a random style; editors come from ``others``. None if it has too few fields to print."""
    fields = dict(record.fields)
    if len(fields) < 3 or not (record.names or tag.C in fields):
        return None
    known = {letter: fields[mark] for letter, mark in _LETTERS.items() if mark in fields}
    _invent(known, others, rng)
    if "E" in known and "F" in known and rng.random() < 0.25:
        known["E"] = _shortened(known["F"], known["E"])
    if rng.random() < 0.07 and "T" in known:
        known["T"] = known["T"].title() if rng.random() < 0.8 else known["T"].upper()
    template = _template(known, rng)
    names = _with_given_names(record.names, others, rng) if rng.random() < 0.2 else record.names
    authors = _people(names, rng) if names else [(known.get("C", ""), tag.C)]
    editors: list[Run] = []
    while not editors:
        editors = [(text, tag.D) for text, _ in _people(rng.choice(others).names[:3], rng, editors=True)]
    runs: list[Run] = [(rng.choice(templates.PREFIXES), tag.O)] if rng.random() < 0.12 else []
    abbreviated = "." in known.get("V", "") and rng.random() < 0.75  # "Environ. Pollut."; the stop may touch the volume
    dash, glue = rng.choice("-–--–‐−"), "" if rng.random() < 0.25 else " "
    for segment in template.split("|"):
        wanted = set(_FIELD.findall(segment))
        if any(not known.get(letter) for letter in wanted - {"A", "D"}) or ("A" in wanted and not authors):
            continue
        segment = segment.replace("@", dash).replace("~", glue)
        last = 0
        for match in _FIELD.finditer(segment):
            runs.append((segment[last : match.start()], tag.O))
            letter = match[1]
            runs += authors if letter == "A" else editors if letter == "D" else [(known[letter], _LETTERS.get(letter, tag.O))]
            if letter == "V" and abbreviated:
                runs.append((".", tag.O))
            last = match.end()
        runs.append((segment[last:], tag.O))
    if rng.random() < 0.08:
        runs.append((rng.choice(templates.SUFFIXES), tag.O))
    return _labelled(runs, record.kind, rng)


def _invent(known: dict[str, str], others: Sequence[Labelled], rng: random.Random) -> None:
    """Add fields that no record has: month, day, date of access, a meeting, its place and days, a kind of thesis or report."""
    month, day = rng.choice(templates.MONTHS)[: rng.choice((3, 9))], rng.randint(1, 25)
    known["m"], known["l"], known["k"] = month, rng.choice(templates.PLACES), rng.choice(templates.KINDS)
    known["a"] = rng.choice((f"{day} {month} {rng.randint(1999, 2024)}", f"{month} {day}, {rng.randint(1999, 2024)}"))
    days = rng.choice((f"{day}", f"{day}-{day + rng.randint(1, 5)}", f"{day}–{day + rng.randint(1, 5)}"))
    known["d"] = rng.choice((f"{month} {days}", f"{days} {month}"))
    words = next((words for _ in range(9) if (words := rng.choice(others).fields.get(tag.T, "").split())), ["Methods"])
    start = rng.randrange(len(words))
    topic = " ".join(word[:1].upper() + word[1:] for word in words[start : start + rng.randint(1, 4)]).strip(".,:;?! ")
    number = rng.choice(("12th", "3rd", "Second", "21st", "2009", "Tenth", "VII", "5th"))
    known["M"] = rng.choice(templates.KINDS_OF_MEETING).format(n=number, x=topic or "Methods")
    if rng.random() < 0.2:
        known["M"] += rng.choice((" (ICDM '04)", " (SIGMOD)", " (AAAI-98)", ", ISMIR 2005"))


def _template(known: dict[str, str], rng: random.Random) -> str:
    draw = rng.random()
    if "P" in known and "T" in known:
        return rng.choice(templates.CHAPTER if "V" in known else templates.BOOK if draw < 0.8 else templates.OTHER)
    if "V" not in known or ("C" in known and draw < 0.5):
        return rng.choice(templates.OTHER)
    if "T" not in known or draw < 0.14:
        return rng.choice(templates.UNTITLED)
    if draw < 0.25:
        return rng.choice(templates.MEETING)
    return rng.choice(templates.CHAPTER if draw < 0.3 else templates.OTHER if draw < 0.33 else templates.JOURNAL)


def _shortened(first: str, last: str) -> str:
    same = 0
    while same < min(len(first), len(last)) - 1 and first[same] == last[same]:
        same += 1
    return last[same:] if len(first) == len(last) else last


def _with_given_names(
    names: Sequence[tuple[str, str]], others: Sequence[Labelled], rng: random.Random
) -> list[tuple[str, str]]:  # fmt: skip
    """Return the names with full given names, taken from other citations where a name has only initials."""
    pool = [
        given for citation in rng.sample(others, min(len(others), 60)) for _, given in citation.names if _WHOLE.match(given)
    ]
    made = [(last, given if _WHOLE.match(given) or not pool else rng.choice(pool)) for last, given in names]
    if rng.random() < 0.3:  # "Barry W. Smith"
        made = [(last, f"{given} {rng.choice(_CAPITALS)}.") for last, given in made]
    return made


def _people(names: Sequence[tuple[str, str]], rng: random.Random, *, editors: bool = False) -> list[Run]:
    """Return the list of names in one style, as runs labelled L (last names) and A (the rest)."""
    listed = [(surname, given) for surname, given in names if surname]
    cut = len(listed)
    others = ""
    if not editors and len(listed) > 2 and rng.random() < 0.3:
        cut = rng.choice((1, 1, 2, 3, 3, 6, 10))
        if cut < len(listed):
            others = rng.choice((" et al", " et al.", ", et al", ", et al.", " et al..", " and others", " и др", " e outros"))
    listed = listed[:cut]
    form = rng.choice(("X", "X.", "X. Y.", "X Y", "X.-Y.", "full"))
    if any(_WHOLE.match(given) for _, given in listed) and rng.random() < 0.5:
        form = "full"
    order = rng.choice(("after", "after", "comma", "comma", "before", "mixed"))
    comma = rng.choice((", ", ", ", ", ", "; ")) if order != "after" or rng.random() < 0.9 else "; "
    if order == "comma" and rng.random() < 0.2:
        comma = "; "
    joint = rng.choice((comma, comma, " and ", ", and ", " & ", ", & ", " und ", " y ", " e ", " et "))
    loud = rng.random() < 0.07
    runs: list[Run] = []
    for at, (surname, given) in enumerate(listed):
        if at:
            runs.append((joint if at == len(listed) - 1 and not others else comma, tag.A))
        first = _given(given, form)
        surname = surname.upper() if loud else surname
        if not first:
            runs.append((surname, tag.L))
        elif order == "before" or (order == "mixed" and at):
            runs += [(first + " ", tag.A), (surname, tag.L)]
        else:
            runs += [(surname, tag.L), (" " + first if order == "after" else ", " + first, tag.A)]
    if others:
        runs.append((others, tag.A))
    return runs


def _given(given: str, form: str) -> str:
    if form == "full":
        return given
    initials = [word[0] for word in re.findall(r"[^\W\d_]+", given)]
    if given.isupper() and given.isalpha() and len(given) <= 3:
        initials = list(given)
    match form:
        case "X":
            return "".join(initials)
        case "X.":
            return "".join(f"{letter}." for letter in initials)
        case "X. Y.":
            return " ".join(f"{letter}." for letter in initials)
        case "X Y":
            return " ".join(initials)
        case _:
            return "-".join(f"{letter}." for letter in initials)


def _labelled(runs: Sequence[Run], kind: str, rng: random.Random) -> Labelled | None:
    """Return the runs as one labelled line; of two adjacent stops only one is kept."""
    text, marks = "", []
    tight = rng.random() < 0.04  # careless print: "Nucl. Phys.A757(2005)184"
    for run, mark in runs:
        for char in run:
            if text and char == "." and text[-1] in ".?!" and mark == tag.O:
                continue
            if char == " " and (not text or text[-1] == " " or (tight and text[-1] in ".,;)" and rng.random() < 0.5)):
                continue
            text += char
            marks.append(mark)
    words = tokenise(text)
    if not 4 <= len(words.words) <= 600:
        return None
    return Labelled(text.rstrip(), [marks[start] for start in words.starts], True, kind)
