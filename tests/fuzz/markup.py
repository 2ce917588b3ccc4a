"""Mutations of elements, attributes and all else that stands in angle brackets. They need no well-formed input."""

from __future__ import annotations

import re
from random import Random
from typing import Final

from tests.fuzz import hostile

_TAG: Final = re.compile(rb"<(/?)([A-Za-z_][\w:.-]*)([^<>]*?)(/?)>")
_CITATION: Final = re.compile(rb"<(mixed-citation|element-citation|citation|nlm-citation)\b[^<>]*[^/]>")
_ID: Final = re.compile(rb'\sid="[^"]*"')
_ID_TYPE: Final = re.compile(rb'(pub-id-type|ext-link-type|person-group-type|publication-type)="[^"]*"')


def _tags(data: bytes) -> list[re.Match[bytes]]:
    return [match for match in _TAG.finditer(data) if not match[1]]


def _element(rng: Random, data: bytes) -> tuple[int, int, int, int] | None:
    """Where some element's start tag and end tag begin and end; an empty element has no width between them."""
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
    """A place where an element or text may stand: behind some tag."""
    tags = [match.end() for match in _TAG.finditer(data)]
    return rng.choice(tags) if tags else len(data)


def _inside_citation(rng: Random, data: bytes) -> int:
    places = [match.end() for match in _CITATION.finditer(data)]
    return rng.choice(places) if places else _between(rng, data)


def _inserted(data: bytes, at: int, added: bytes | str) -> bytes:
    return data[:at] + (added if isinstance(added, bytes) else added.encode(errors="surrogatepass")) + data[at:]


def delete_element(rng: Random, data: bytes) -> bytes:
    """An element with all in it is gone."""
    found = _element(rng, data)
    return data[: found[0]] + data[found[3] :] if found else data


def duplicate_element(rng: Random, data: bytes) -> bytes:
    """An element comes again, with the same id."""
    found = _element(rng, data)
    if not found:
        return data
    return data[: found[3]] + data[found[0] : found[3]] * rng.choice((1, 1, 1, 3, 30)) + data[found[3] :]


def move_element(rng: Random, data: bytes) -> bytes:
    """An element stands elsewhere, perhaps within what it never is in."""
    found = _element(rng, data)
    if not found:
        return data
    rest = data[: found[0]] + data[found[3] :]
    return _inserted(rest, _between(rng, rest), data[found[0] : found[3]])


def nest_element(rng: Random, data: bytes) -> bytes:
    """A copy of an element stands within itself."""
    found = _element(rng, data)
    return _inserted(data, found[1], data[found[0] : found[3]]) if found else data


def rename_element(rng: Random, data: bytes) -> bytes:
    """An element has another name, its attributes and content kept."""
    found = _element(rng, data)
    if not found:
        return data
    opening, name = data[found[0] : found[1]], rng.choice(hostile.NAMES).encode()
    opening = re.sub(rb"^<[\w:.-]+", b"<" + name, opening)
    ending = b"</" + name + b">" if found[3] > found[2] else b""
    return data[: found[0]] + opening + data[found[1] : found[2]] + ending + data[found[3] :]


def unwrap_element(rng: Random, data: bytes) -> bytes:
    """An element's tags are gone, its content stays."""
    found = _element(rng, data)
    return data[: found[0]] + data[found[1] : found[2]] + data[found[3] :] if found else data


def wrap_element(rng: Random, data: bytes) -> bytes:
    """An element stands within another one, or deep within many."""
    found = _element(rng, data)
    if not found:
        return data
    name, times = rng.choice(hostile.NAMES).encode(), rng.choice((1, 1, 1, 1, 2, 20, 200, 2000))
    return b"".join(
        (
            data[: found[0]],
            (b"<" + name + b">") * times,
            data[found[0] : found[3]],
            (b"</" + name + b">") * times,
            data[found[3] :],
        )
    )


def drop_tag(rng: Random, data: bytes) -> bytes:
    """A start or end tag is missing."""
    tags = list(_TAG.finditer(data))
    if not tags:
        return data
    tag = rng.choice(tags)
    return data[: tag.start()] + data[tag.end() :]


def prefix_element(rng: Random, data: bytes) -> bytes:
    """An element is in a namespace, declared or not."""
    found = _element(rng, data)
    if not found:
        return data
    opening, ending = data[found[0] : found[1]], data[found[2] : found[3]]
    declaration = rng.choice((b"", b' xmlns:q="urn:q"', b' xmlns:q="http://www.w3.org/1998/Math/MathML"', b' xmlns:q=""'))
    opening = re.sub(rb"^<([\w.-]+:)?([\w.-]+)", lambda m: b"<q:" + m[2] + declaration, opening)
    ending = re.sub(rb"^</([\w.-]+:)?([\w.-]+)", lambda m: b"</q:" + m[2], ending)
    return data[: found[0]] + opening + data[found[1] : found[2]] + ending + data[found[3] :]


def add_attribute(rng: Random, data: bytes) -> bytes:
    """An attribute more, perhaps one that is there already."""
    tags = _tags(data)
    if not tags:
        return data
    return _inserted(data, rng.choice(tags).end(2), " " + rng.choice(hostile.ATTRIBUTES))


def drop_attributes(rng: Random, data: bytes) -> bytes:
    """A start tag without attributes."""
    tags = [tag for tag in _tags(data) if tag[3].strip()]
    if not tags:
        return data
    tag = rng.choice(tags)
    return data[: tag.start(3)] + data[tag.end(3) :]


def change_id(rng: Random, data: bytes) -> bytes:
    """The ids of some elements are one, or strange."""
    places = list(_ID.finditer(data))
    if not places:
        return add_attribute(rng, data)
    value = rng.choice([item for item in hostile.ATTRIBUTES if item.startswith("id=")]).encode()
    for place in reversed(rng.sample(places, min(len(places), rng.randrange(1, 4)))):
        if data[place.start() : place.end()] == place[0]:
            data = data[: place.start()] + b" " + value + data[place.end() :]
    return data


def change_type(rng: Random, data: bytes) -> bytes:
    """What is called a DOI is a PMID, an author an editor."""
    places = list(_ID_TYPE.finditer(data))
    if not places:
        return add_attribute(rng, data)
    place = rng.choice(places)
    kinds = [item for item in hostile.ATTRIBUTES if item.partition("=")[0] == place[1].decode()]
    return data[: place.start()] + rng.choice(kinds).encode() + data[place.end() :]


def add_fragment(rng: Random, data: bytes) -> bytes:
    """A comment, CDATA, instruction, XInclude, or element out of place."""
    at = _inside_citation(rng, data) if rng.random() < 0.5 else _between(rng, data)
    return _inserted(data, at, rng.choice(hostile.FRAGMENTS))


def add_doctype(rng: Random, data: bytes) -> bytes:
    """A DOCTYPE with entities, bombs, files; and a use of what it declares."""
    at = data.find(b"?>") + 2 if data.startswith(b"<?xml") else 0
    use = rng.choice(("&xxe;", "&e9;", "%pe;", "&eacute;", "&e9;" * 50, ""))
    data = _inserted(data, _inside_citation(rng, data), use)
    if rng.random() < 0.7:
        data = re.sub(rb"<!DOCTYPE[^>]*>", b"", data, count=1)
    return _inserted(data, at, rng.choice(hostile.DOCTYPES))


def many_attributes(rng: Random, data: bytes) -> bytes:
    """Hundreds or thousands of attributes, or a very long one."""
    tags = _tags(data)
    if not tags:
        return data
    at, times = rng.choice(tags).end(2), rng.choice((10, 300, 300, 3000))
    if rng.random() < 0.5:
        return _inserted(data, at, "".join(f' a{n}="{n}"' for n in range(times)))
    return _inserted(
        data, at, f' {rng.choice(("id", "a", "pub-id-type", "publication-type"))}="{rng.choice("ax1.") * times * 10}"'
    )


def many_elements(rng: Random, data: bytes) -> bytes:
    """Hundreds or thousands of names, titles or whatever in one citation."""
    one = rng.choice(hostile.REPEATED)
    return _inserted(data, _inside_citation(rng, data), "".join(one.format(n) for n in range(rng.choice((10, 100, 100, 1500)))))


def deep(rng: Random, data: bytes) -> bytes:
    """Elements within elements, up to and beyond what is allowed."""
    name, depth = rng.choice(hostile.NAMES), rng.choice((10, 100, 240, 250, 254, 256, 260, 300, 5000))
    return _inserted(data, _inside_citation(rng, data), f"<{name}>" * depth + "x" + f"</{name}>" * depth)


def swap_elements(rng: Random, data: bytes) -> bytes:
    """Two elements change places, where neither holds the other."""
    one, other = _element(rng, data), _element(rng, data)
    if not one or not other:
        return data
    one, other = sorted((one, other))
    if one[3] > other[0]:
        return data
    return b"".join(
        (data[: one[0]], data[other[0] : other[3]], data[one[3] : other[0]], data[one[0] : one[3]], data[other[3] :])
    )


MARKUP: Final = (
    delete_element, delete_element, duplicate_element, duplicate_element, move_element, move_element, nest_element,
    rename_element, rename_element, unwrap_element, wrap_element, drop_tag, prefix_element, add_attribute, add_attribute,
    drop_attributes, change_id, change_type, add_fragment, add_fragment, add_fragment, add_doctype, many_attributes,
    many_elements, deep, swap_elements,
)  # fmt: skip
