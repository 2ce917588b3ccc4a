"""The .bbl files of biblatex: entries whose fields, lists and names are stated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reflink.bibliography.citation import Citation
from reflink.formats.latex.macros import MAX_UNCLOSED, closing
from reflink.formats.latex.records import MAX_PEOPLE, MAX_VALUE, Fields, Person, Plain, citation
from reflink.names import is_group

_ENTRY: Final = re.compile(r"\\entry\s*\{([^{}]{1,300})\}\s*\{([A-Za-z]{0,40})\}")
_DATUM: Final = re.compile(r"\\(field|list|name|verb)\s*\{([A-Za-z:]{1,40})\}")
_OPTION: Final = re.compile(r"\s*(?:\{[^{}]{0,2000}\}\s*%?\s*){0,3}(?=\{)")
_PART: Final = re.compile(r"(?<![A-Za-z])(family|given|prefix|suffix)\s*=\s*(?=\{)")


def biblatex_entries(text: str, plain: Plain) -> Iterator[tuple[str, Citation | None]]:
    """Yield key and citation of each entry of a .bbl file of biblatex, each key once."""
    starts = list(_ENTRY.finditer(text))
    seen: set[str] = set()
    for number, found in enumerate(starts):
        stop = text.find("\\endentry", found.end())
        stop = min(stop if stop >= 0 else len(text), starts[number + 1].start() if number + 1 < len(starts) else len(text))
        key = found[1].strip()
        if key not in seen:
            seen.add(key)
            fields, names = _biblatex_fields(text[found.end() : stop], plain)
            yield key, citation(found[2], fields, plain, names.get("author", []), names.get("editor", []))


def _biblatex_fields(text: str, plain: Plain) -> tuple[Fields, dict[str, list[Person]]]:
    fields: Fields = {}
    names: dict[str, list[Person]] = {}
    unclosed = 0
    for found in _DATUM.finditer(text):
        if unclosed >= MAX_UNCLOSED:
            break
        command, name = found[1], found[2].lower()
        at = found.end()
        if command == "verb":
            start = text.find("\\verb ", at, at + 100)
            end = text.find("\\endverb", at)
            if start >= 0 and end >= 0:
                fields[name] = [text[start + 6 : end].strip()]
            continue
        if command == "field":
            at = _opening(text, at)
        else:
            option = _OPTION.match(text, at)
            at = option.end() if option else at
        close = closing(text, at) if text.startswith("{", at) else -1
        if close < 0:
            unclosed += 1
            continue
        content = text[at + 1 : close]
        if command == "name":
            names[name] = [person for each in _groups(content)[:MAX_PEOPLE] if (person := _biblatex_person(each, plain))]
        elif command == "list":
            fields[name] = _groups(content)[:1]
        else:
            fields[name] = [content[:MAX_VALUE]]
    return fields, names


def _opening(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n%":
        at += 1
    return at


def _groups(text: str) -> list[str]:
    """Return the contents of the groups that a text consists of."""
    found: list[str] = []
    at = text.find("{")
    while at >= 0:
        close = closing(text, at)
        if close < 0:
            break
        found.append(text[at + 1 : close])
        at = text.find("{", close)
    return found


def _biblatex_person(source: str, plain: Plain) -> Person | None:
    parts = _groups(source)
    if len(parts) < 2:
        return None
    named = {found[1]: parts[1][found.end() + 1 : closing(parts[1], found.end())] for found in _PART.finditer(parts[1])}
    if named:
        last = " ".join(filter(None, (plain(named.get("prefix", "")), plain(named.get("family", "")))))
        given = plain(named.get("given", ""))
        whole = named.get("family", "")
    else:  # before version 2.8: {hash}{last}{initials}{first}{initials}{prefix}...
        last, given, whole = plain(parts[1]), plain(parts[3]) if len(parts) > 3 else "", parts[1]
        if len(parts) > 5 and parts[5]:
            last = f"{plain(parts[5])} {last}"
    group = not given and (whole.startswith("{") or is_group(last))
    return (last, given, group) if last else None
