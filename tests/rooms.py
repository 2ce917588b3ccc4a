"""``python -m tests.rooms docs/rooms.svg``: draws the rooms of ``workers`` and their imports, as they are in the code.

An arrow means "imports". An arrow that others imply is left out: if A imports B and B imports C, A may import C too.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.data import ROOT

PACKAGES: Final = ("reflink", "schemas", "workers", "helm")
MODULES: Final = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
#: Rooms within rooms.
_NESTED: Final = {"ledger.stores"}
_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 118, 40, 158, 92, 20

Graph = Mapping[str, frozenset[str]]


def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN: Final = {name_of(path): path for path in MODULES}


def imports(tree: ast.AST, *, inside: bool, name: str, package: bool) -> Iterator[str]:
    """Yield the modules that a module imports, also under TYPE_CHECKING; ``inside``: imports within functions count too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: len(name.split(".")) - node.level + package] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                yield whole if whole in KNOWN else module
        elif inside or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(node, inside=inside, name=name, package=package)


@cache
def imports_of(path: Path, *, inside: bool) -> frozenset[str]:
    """Return the modules that the module at ``path`` imports."""
    tree = ast.parse(path.read_text())
    return frozenset(imports(tree, inside=inside, name=name_of(path), package=path.name == "__init__.py"))


def room_of(name: str) -> str:
    """Return the room of a module of ``workers``; modules outside all rooms are at the root."""
    parts = name.split(".")[1:]
    if ".".join(parts[:2]) in _NESTED:
        return ".".join(parts[:2])
    return parts[0] if parts and (ROOT / "workers" / parts[0]).is_dir() else "root"


def rooms() -> Graph:
    """Return the rooms that each room imports."""
    found: dict[str, set[str]] = {}
    for name, path in KNOWN.items():
        if name.split(".")[0] == "workers":
            known = {room_of(each) for each in imports_of(path, inside=True) if each.split(".")[0] == "workers"}
            found.setdefault(room_of(name), set()).update(known - {room_of(name)})
    return {room: frozenset(below) for room, below in found.items()}


def floors(graph: Graph) -> dict[str, int]:
    """Return the floor of each room: 0 for a room that imports no other, else one above the highest that it imports.

    Raises graphlib.CycleError if rooms import each other.
    """
    found: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        found[room] = max((found[each] + 1 for each in graph[room]), default=0)
    return found


def reduced(graph: Graph) -> Graph:
    """Return the graph without the imports that others imply."""

    def below(room: str) -> set[str]:
        return {each for next_ in graph[room] for each in ({next_} | below(next_))}

    return {room: frozenset(each for each in to if not any(each in below(other) for other in to)) for room, to in graph.items()}


def drawn(graph: Graph) -> str:
    """Return the picture as SVG, with the highest floor at the top."""
    level, lines = floors(graph), reduced(graph)
    rows: list[list[str]] = [sorted(room for room in graph if level[room] == each) for each in range(max(level.values()) + 1)]
    # An arrow over several floors gets a place in each of them, so that it passes no box.
    links: list[tuple[str, str]] = []
    paths: dict[tuple[str, str], list[str]] = {}
    for room, to in sorted(lines.items()):
        for each in sorted(to):
            path = [room, *(f"{room}>{each}@{floor}" for floor in range(level[room] - 1, level[each], -1)), each]
            for floor, node in zip(range(level[room] - 1, level[each], -1), path[1:-1], strict=True):
                rows[floor].append(node)
            paths[room, each] = path
            links += pairwise(path)
    place = {node: at - len(row) / 2 for row in rows for at, node in enumerate(row)}
    for turn in range(24):  # each row in order of its neighbours above, then below, and so on
        for row in rows if turn % 2 else rows[::-1]:
            near = {
                node: [place[a if turn % 2 == 0 else b] for a, b in links if node == (b if turn % 2 == 0 else a)]
                for node in row
            }
            row.sort(key=lambda node: sum(near[node]) / len(near[node]) if near[node] else place[node])
            place |= {node: at - len(row) / 2 for at, node in enumerate(row)}
    widest = max(map(len, rows))
    where = {
        node: (_MARGIN + ((widest - len(row)) / 2 + at) * _ACROSS, _MARGIN + (len(rows) - 1 - floor) * _DOWN)
        for floor, row in enumerate(rows)
        for at, node in enumerate(row)
    }
    modules = Counter(room_of(name) for name, path in KNOWN.items() if name.startswith("workers.") and path.stem != "__init__")
    size = 2 * _MARGIN + (widest - 1) * _ACROSS + _WIDTH, 2 * _MARGIN + (len(rows) - 1) * _DOWN + _HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif" font-size="14">',
        f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
    ]
    for path in paths.values():
        points = [(where[path[0]][0] + _WIDTH / 2, where[path[0]][1] + _HEIGHT)]
        for node in path[1:-1]:
            points += [(where[node][0] + _WIDTH / 2, where[node][1] + shift) for shift in (0, _HEIGHT)]
        points.append((where[path[-1]][0] + _WIDTH / 2, where[path[-1]][1]))
        line = " ".join(f"{x:g},{y:g}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="#555" stroke-width="1.2" marker-end="url(#tip)"/>')
    for room in sorted(graph):
        x, y = where[room]
        middle = x + _WIDTH / 2
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef3fa" stroke="#345"/>')
        parts.append(f'<text x="{middle:g}" y="{y + 17:g}" text-anchor="middle" font-weight="bold">{room}</text>')
        parts.append(f'<text x="{middle:g}" y="{y + 33:g}" text-anchor="middle" font-size="11">{modules[room]} modules</text>')
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawn(rooms()))
