"""Names of elements and attributes without namespaces and prefixes, for XML whose names are unambiguous without them."""

from __future__ import annotations

from typing import Final

from lxml import etree

#: The name of an element whose name is malformed, as recovered XML may have.
_MALFORMED: Final = "malformed"


def plain_names(root: etree._Element) -> None:
    """Remove namespaces and prefixes from the names of all elements and attributes, in place."""
    known: dict[str, str] = {}

    def plain(name: str) -> str:
        found = known.get(name)
        if found is None:
            found = known[name] = _plain(name)
        return found

    for element in root.iter("*"):
        name = str(element.tag)
        if (bare := plain(name)) != name:
            element.tag = bare
        for name in map(str, element.keys()):
            if (bare := plain(name)) != name:
                value = str(element.attrib.pop(name))
                element.set(bare, value)


def _plain(name: str) -> str:
    """Return the name without namespace and prefix."""
    bare = name.rpartition("}")[2].rpartition(":")[2]
    try:
        return etree.QName(bare).localname
    except ValueError:
        return _MALFORMED
