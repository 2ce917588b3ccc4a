"""Generate the table of values in the chart's README from the comments of values.yaml.

python -m helm.readme            # writes helm/reflink/README.md anew

A comment directly above a key is its description; a comment that begins with ``##`` is a heading.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).resolve().parent / "reflink"
README: Final = CHART / "README.md"
VALUES: Final = CHART / "values.yaml"
BEGIN: Final = "<!-- values: made by python -m helm.readme -->"
END: Final = "<!-- end of values -->"
#: A longer default is not shown; the table refers to values.yaml.
_LONGEST: Final = 70


class Undocumented(Exception):
    """A value has no comment; the message names it and its line."""


def table(values: str) -> str:
    """Return the values as Markdown: a table for each heading. Raises Undocumented."""
    lines = values.splitlines()
    out: list[str] = []
    for key, node, line in _entries(yaml.compose(values, Loader=yaml.SafeLoader)):
        heading = _heading(lines, line)
        if heading or not out:
            out += [*([f"\n### {heading}"] if heading else []), "", "| value | default | meaning |", "|---|---|---|"]
        out += [_row(*each) for each in _rows(key, node, line, lines)]
    return "\n".join(out).strip()


def renewed(readme: str, values: str) -> str:
    """Return the README with the current table. Raises Undocumented."""
    before, rest = readme.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(values)}\n\n{END}{rest.split(END)[1]}"


def _entries(node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, int]]:
    for key, value in node.value:
        yield key.value, value, key.start_mark.line


def _rows(path: str, node: yaml.Node, line: int, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    comment = _comment(lines, line)
    if isinstance(node, yaml.MappingNode) and _any_comment(node, lines):
        if comment:
            yield path, "", comment
        for key, value, at in _entries(node):
            yield from _rows(f"{path}.{key}", value, at, lines)
    elif comment:
        yield path, _default(yaml.SafeLoader("").construct_document(node)), comment
    else:
        raise Undocumented(f"values.yaml, line {line + 1}: {path} has no comment above it")


def _any_comment(node: yaml.MappingNode, lines: list[str]) -> bool:
    return any(
        _comment(lines, at) or (isinstance(value, yaml.MappingNode) and _any_comment(value, lines))
        for _, value, at in _entries(node)
    )


def _above(lines: list[str], line: int) -> list[str]:
    indent = len(lines[line]) - len(lines[line].lstrip())
    found: list[str] = []
    while line and lines[line - 1].startswith(" " * indent + "#"):
        line -= 1
        found.insert(0, lines[line].strip())
    return found


def _comment(lines: list[str], line: int) -> str:
    return " ".join(each.lstrip("# ") for each in _above(lines, line) if not each.startswith("##"))


def _heading(lines: list[str], line: int) -> str:
    return next((each.lstrip("# ") for each in _above(lines, line) if each.startswith("##")), "")


def _default(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return f"`{shown}`" if len(shown) <= _LONGEST else "see values.yaml"


def _row(path: str, default: str, comment: str) -> str:
    return f"| `{path}` | {default} | {comment.replace('|', '&#124;')} |"


def main() -> int:
    """Write the README."""
    README.write_text(renewed(README.read_text(), VALUES.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
