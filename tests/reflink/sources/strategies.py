"""Values for property tests of the sources: any JSON value, and records whose known fields have any value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hypothesis import strategies as st

from reflink.entities import Work
from reflink.errors import BadRecord, ReflinkError
from reflink.sources.source import SourceRecord

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["10.1000/x", "https://doi.org/10.1000/Y", "2024-02-30", "1999", "W12", "pmid: 17", "<i>a</i> &amp; b", "12-3", "en",
     "ISSN 1234-5679", "https://openalex.org/W5", "journal-article", "article", "Doe, J.", "\x00\u2028", "9" * 25]
)  # fmt: skip
_SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | _TEXT
#: Any JSON value.
VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3), max_leaves=6
)  # fmt: skip


def records_of(paths: Iterable[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return records in which each of these paths, such as ``author.0.family``, may have any value."""
    return st.dictionaries(st.sampled_from(sorted(paths)), VALUES, max_size=8).map(_nested)


#: Long texts at which a careless expression needs quadratic time or a large cache.
_PARTS = ("10.1234/", "x", "<i>", "&amp;", " and ", "1234-5679 ", "- ", "a,", "(", "\\", "W1")
_HOSTILE = tuple(part * (2_000_000 // len(part)) for part in _PARTS)


def hostile(paths: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield records in which one of these paths has a very long text."""
    for path in paths:
        for text in _HOSTILE:
            yield _nested({path: text})


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path, value in flat.items():
        _put(root, path.split("."), value)
    return root


def _put(node: Any, path: list[str], value: Any) -> None:
    key: Any = int(path[0]) if path[0].isdigit() else path[0]
    if isinstance(node, list):
        while len(node) <= key:
            node.append({})
    if len(path) == 1:
        node[key] = value
        return
    inner = node[key] if isinstance(node, list) else node.get(key)
    if not isinstance(inner, list if path[1].isdigit() else dict):
        inner = node[key] = [] if path[1].isdigit() else {}
    _put(inner, path[1:], value)


def until_fault(records: Iterable[Any]) -> tuple[list[Any], Exception | None]:
    """Return what an iterator yields, and the named error or EOFError that ends it."""
    found: list[Any] = []
    try:
        found.extend(records)
    except (ReflinkError, EOFError) as error:
        return found, error
    return found, None


def check(read: Callable[[dict[str, Any]], SourceRecord | Iterable[SourceRecord]], value: dict[str, Any]) -> list[SourceRecord]:
    """Return the records of a value after checking the laws that hold for every source: none for a BadRecord."""
    try:
        found = read(value)
        records = [found] if isinstance(found, SourceRecord) else list(found)
    except BadRecord:
        return []
    for record in records:
        assert record.key
        assert not any(map(str.isspace, record.key))
        assert 0 <= record.version < 2**63
        if record.work is not None:
            assert Work.from_json(record.work.to_json()) == record.work
            assert record.work.fpage is not None or record.work.lpage is None
            assert record.replaced_by is None
            assert set(record.work.collectives) <= set(record.work.authors)
    return records
