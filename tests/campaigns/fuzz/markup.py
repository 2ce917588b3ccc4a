"""Mutations of elements, attributes and other markup in angle brackets. The input need not be well-formed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from random import Random
from typing import Final

from tests.campaigns.fuzz import hostile
from tests.campaigns.fuzz.textual import inserted

_TAG: Final = re.compile(rb"<(/?)([A-Za-z_][\w:.-]*)([^<>]*?)(/?)>")
_CITATION: Final = re.compile(rb"<(mixed-citation|element-citation|citation|nlm-citation)\b[^<>]*[^/]>")
_ID: Final = re.compile(rb'\sid="[^"]*"')
_ID_TYPE: Final = re.compile(rb'(pub-id-type|ext-link-type|person-group-type|publication-type)="[^"]*"')


def _tags(data: bytes) -> list[re.Match[bytes]]:
    return [match for match in _TAG.finditer(data) if not match[1]]


def _element(rng: Random, data: bytes) -> tuple[int, int, int, int] | None:
    """Return begin and end of the start tag, and of the end tag, of a random element; None if there is none.

    An empty element has an end tag of length 0 directly after the start tag.
    """
    tags = _tags(data)
    if not tags:
        return None
    tag = rng.choice(tags)
    if tag[4]:
        return tag.start(), tag.end(), tag.end(), tag.end()
    depth = 0
    for match in re.finditer(rb"<(/?)" + re.escape(tag[2]) + rb"(?![\w:.-])[^<>]*?(/?)>", data[tag.start() :]):
        depth += 0 if match[2] else -1 if match[1] else 1
        if not depth:
            return tag.start(), tag.end(), tag.start() + match.start(), tag.start() + match.end()
    return None


def _between(rng: Random, data: bytes) -> int:
    """Return a position at which an element or text may stand: the end of a random tag."""
    tags = [match.end() for match in _TAG.finditer(data)]
    return rng.choice(tags) if tags else len(data)


def _inside_citation(rng: Random, data: bytes) -> int:
    places = [match.end() for match in _CITATION.finditer(data)]
    return rng.choice(places) if places else _between(rng, data)


def _on_element(change: Callable[[Random, bytes, int, int, int, int], bytes]) -> Callable[[Random, bytes], bytes]:
    """Turn a change of an element into a mutation of a random element; without an element it changes nothing.

    The change gets begin and end of the start tag, then of the end tag.
    """

    @wraps(change)
    def mutation(rng: Random, data: bytes) -> bytes:
        found = _element(rng, data)
        return change(rng, data, *found) if found else data

    return mutation


@_on_element
def delete_element(_: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Delete an element with its content."""
    return data[:begin] + data[end:]


@_on_element
def duplicate_element(rng: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Repeat an element, with the same id."""
    return data[:end] + data[begin:end] * rng.choice((1, 1, 1, 3, 30)) + data[end:]


@_on_element
def move_element(rng: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Move an element to another position, perhaps into an element that never contains it."""
    rest = data[:begin] + data[end:]
    return inserted(rest, _between(rng, rest), data[begin:end])


@_on_element
def nest_element(_: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Insert a copy of an element into the element itself."""
    return inserted(data, start, data[begin:end])


@_on_element
def rename_element(rng: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Rename an element, keeping its attributes and content."""
    name = rng.choice(hostile.NAMES).encode()
    opening = re.sub(rb"^<[\w:.-]+", b"<" + name, data[begin:start])
    ending = b"</" + name + b">" if end > stop else b""
    return data[:begin] + opening + data[start:stop] + ending + data[end:]


@_on_element
def unwrap_element(_: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Remove an element's tags, keeping its content."""
    return data[:begin] + data[start:stop] + data[end:]


@_on_element
def wrap_element(rng: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Wrap an element in one or many others."""
    name, times = rng.choice(hostile.NAMES).encode(), rng.choice((1, 1, 1, 1, 2, 20, 200, 2000))
    return data[:begin] + (b"<" + name + b">") * times + data[begin:end] + (b"</" + name + b">") * times + data[end:]


@_on_element
def prefix_element(rng: Random, data: bytes, begin: int, start: int, stop: int, end: int) -> bytes:
    """Put an element into a namespace, declared or not."""
    declaration = rng.choice((b"", b' xmlns:q="urn:q"', b' xmlns:q="http://www.w3.org/1998/Math/MathML"', b' xmlns:q=""'))
    opening = re.sub(rb"^<([\w.-]+:)?([\w.-]+)", lambda m: b"<q:" + m[2] + declaration, data[begin:start])
    ending = re.sub(rb"^</([\w.-]+:)?([\w.-]+)", lambda m: b"</q:" + m[2], data[stop:end])
    return data[:begin] + opening + data[start:stop] + ending + data[end:]


def drop_tag(rng: Random, data: bytes) -> bytes:
    """Remove a start or end tag."""
    tags = list(_TAG.finditer(data))
    if not tags:
        return data
    tag = rng.choice(tags)
    return data[: tag.start()] + data[tag.end() :]


def add_attribute(rng: Random, data: bytes) -> bytes:
    """Add an attribute, perhaps one that exists already."""
    tags = _tags(data)
    if not tags:
        return data
    return inserted(data, rng.choice(tags).end(2), " " + rng.choice(hostile.ATTRIBUTES))


def drop_attributes(rng: Random, data: bytes) -> bytes:
    """Remove all attributes of a start tag."""
    tags = [tag for tag in _tags(data) if tag[3].strip()]
    if not tags:
        return data
    tag = rng.choice(tags)
    return data[: tag.start(3)] + data[tag.end(3) :]


def change_id(rng: Random, data: bytes) -> bytes:
    """Give one to three elements the same, perhaps strange, id."""
    places = list(_ID.finditer(data))
    if not places:
        return add_attribute(rng, data)
    value = rng.choice([item for item in hostile.ATTRIBUTES if item.startswith("id=")]).encode()
    for place in reversed(rng.sample(places, min(len(places), rng.randrange(1, 4)))):
        if data[place.start() : place.end()] == place[0]:
            data = data[: place.start()] + b" " + value + data[place.end() :]
    return data


def change_type(rng: Random, data: bytes) -> bytes:
    """Change the type of an identifier, a group of persons or a publication, such as a DOI to a PMID."""
    places = list(_ID_TYPE.finditer(data))
    if not places:
        return add_attribute(rng, data)
    place = rng.choice(places)
    kinds = [item for item in hostile.ATTRIBUTES if item.partition("=")[0] == place[1].decode()]
    return data[: place.start()] + rng.choice(kinds).encode() + data[place.end() :]


def add_fragment(rng: Random, data: bytes) -> bytes:
    """Insert a comment, CDATA section, processing instruction, XInclude, or element out of place."""
    at = _inside_citation(rng, data) if rng.random() < 0.5 else _between(rng, data)
    return inserted(data, at, rng.choice(hostile.FRAGMENTS))


def add_doctype(rng: Random, data: bytes) -> bytes:
    """Add a DOCTYPE with entities, entity bombs or external files, and a use of its declarations."""
    at = data.find(b"?>") + 2 if data.startswith(b"<?xml") else 0
    use = rng.choice(("&xxe;", "&e9;", "%pe;", "&eacute;", "&e9;" * 50, ""))
    data = inserted(data, _inside_citation(rng, data), use)
    if rng.random() < 0.7:
        data = re.sub(rb"<!DOCTYPE[^>]*>", b"", data, count=1)
    return inserted(data, at, rng.choice(hostile.DOCTYPES))


def many_attributes(rng: Random, data: bytes) -> bytes:
    """Add from ten to thousands of attributes, or a very long one."""
    tags = _tags(data)
    if not tags:
        return data
    at, times = rng.choice(tags).end(2), rng.choice((10, 300, 300, 3000))
    if rng.random() < 0.5:
        return inserted(data, at, "".join(f' a{n}="{n}"' for n in range(times)))
    name, value = rng.choice(("id", "a", "pub-id-type", "publication-type")), rng.choice("ax1.") * times * 10
    return inserted(data, at, f' {name}="{value}"')


def many_elements(rng: Random, data: bytes) -> bytes:
    """Add from ten to 1,500 names, titles or other elements to one citation."""
    one = rng.choice(hostile.REPEATED)
    return inserted(data, _inside_citation(rng, data), "".join(one.format(n) for n in range(rng.choice((10, 100, 100, 1500)))))


def deep(rng: Random, data: bytes) -> bytes:
    """Nest elements up to and beyond the allowed depth."""
    name, depth = rng.choice(hostile.NAMES), rng.choice((10, 100, 240, 250, 254, 256, 260, 300, 5000))
    return inserted(data, _inside_citation(rng, data), f"<{name}>" * depth + "x" + f"</{name}>" * depth)


def swap_elements(rng: Random, data: bytes) -> bytes:
    """Swap two elements, unless one contains the other."""
    one, other = _element(rng, data), _element(rng, data)
    if not one or not other:
        return data
    one, other = sorted((one, other))
    if one[3] > other[0]:
        return data
    return data[: one[0]] + data[other[0] : other[3]] + data[one[3] : other[0]] + data[one[0] : one[3]] + data[other[3] :]


MARKUP: Final = (
    delete_element, delete_element, duplicate_element, duplicate_element, move_element, move_element, nest_element,
    rename_element, rename_element, unwrap_element, wrap_element, drop_tag, prefix_element, add_attribute, add_attribute,
    drop_attributes, change_id, change_type, add_fragment, add_fragment, add_fragment, add_doctype, many_attributes,
    many_elements, deep, swap_elements,
)  # fmt: skip
