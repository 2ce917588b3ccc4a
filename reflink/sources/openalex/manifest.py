"""The manifests of an OpenAlex snapshot: which files it has, with their sizes and numbers of records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from reflink.errors import BadDump
from reflink.sources import values
from reflink.sources.source import SourceFile

_WORKS: Final = re.compile(r"(?:^|/)works/(updated_date=[^/]+/[^/]+)$")
_SHOWN: Final = 3


class Stated(NamedTuple):
    """What a manifest states of a file: bytes and records, None if it does not."""

    size: int | None
    records: int | None


def listed(manifests: Iterable[Path]) -> dict[Path, Stated]:
    """Return the files of works in the manifests, by their resolved path.

    Read are a table of ``entries`` or ``files``, and tables of several entities. Raises BadDump if a manifest is unreadable.
    """
    found: dict[Path, Stated] = {}
    for manifest in manifests:
        try:
            value = orjson.loads(manifest.read_bytes())
        except (OSError, orjson.JSONDecodeError) as error:
            raise BadDump(f"{manifest}: not a manifest: {error}: get it again") from None
        folder = manifest.resolve().parent
        works = folder if folder.name == "works" else folder / "works"
        for table in (values.mapping(value), *values.mappings(values.mapping(value).get("entities"))):
            for entry in (*_entries(table.get("entries")), *_entries(table.get("files"))):
                url = entry.get("url")
                part = _WORKS.search(url) if type(url) is str else None
                if part:
                    meta = values.mapping(entry.get("meta"))
                    found[works / part[1]] = Stated(
                        values.version(meta.get("content_length")), values.version(meta.get("record_count"))
                    )
    return found


def check(files: Sequence[SourceFile], stated: dict[Path, Stated], paths: Sequence[Path]) -> list[SourceFile]:
    """Return the files with the stated numbers of records, without files of the same partitions that no manifest lists.

    Raises BadDump if a listed file below one of the ``paths`` is missing, or has another size than stated.
    """
    present = {each.path.resolve(): each for each in files}
    roots = [path.resolve() for path in paths]
    expected = [path for path in stated if any(root in path.parents for root in roots)]
    wrong = [str(path) for path in expected if path not in present]
    if wrong:
        raise BadDump(f"{len(wrong)} of the {len(expected)} files of the manifest are missing: {_some(wrong)}")
    for path, file in present.items():
        size = stated[path].size if path in stated else None
        if size is not None and file.path.stat().st_size != size:
            wrong.append(f"{path} ({file.path.stat().st_size} instead of {size} bytes)")
    if wrong:
        raise BadDump(f"{len(wrong)} files have another size than the manifest states: {_some(wrong)}: get them again")
    covered = {path.parent.parent for path in stated}
    return [
        replace(file, expected=stated[path].records) if path in stated else file
        for path, file in present.items()
        if path in stated or not path.parent.name.startswith("updated_date=") or path.parent.parent not in covered
    ]


def _entries(value: Any) -> Iterable[dict[str, Any]]:
    return (each for each in value if type(each) is dict) if type(value) is list else ()


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
