"""From the files of an archive to one source: its main file, with the files that it includes and its bibliography."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Final

from reflink.errors import NotAPaper, TooLarge
from reflink.formats.latex.macros import Macro, definitions
from reflink.formats.latex.sourcetext import cleaned, decoded, until_end
from reflink.limits import Limits

#: Maximum nesting and number of included files.
_MAX_DEPTH: Final = 20
_MAX_INCLUDED: Final = 2_000
#: Maximum size of a package in the archive that is searched for macros; larger ones are journals' styles.
_MAX_PACKAGE: Final = 50_000

_CLASS: Final = re.compile(r"\\document(?:class|style)\b[^{]{0,500}\{([^{}]{0,100})\}")
_BEGIN: Final = re.compile(r"\\begin\s{0,10}\{document\}")
_PLAIN_TEX: Final = re.compile(
    r"\\input\s+(?:harvmac|phyzzx|amstex|amsppt|epsf|mtexsis|lanlmac)|\\(?:bye|magnification|end)\b(?!\s*\{)|\\documentstyle\b"
)
_INCLUSION: Final = re.compile(
    r"\\(?P<command>input|include|subfile|subfileinclude|InputIfFileExists|@input)(?:\s*\{\s*(?P<braced>[^{}\n]{1,300})\}|\s+(?P<bare>[\w./-]{1,300}))"
    r"|\\(?:sub)?(?:import|includefrom|inputfrom)\*?\s*\{\s*(?P<folder>[^{}\n]{0,300})\}\s*\{\s*(?P<file>[^{}\n]{1,300})\}"
    r"|\\(?P<bibliography>bibliography(?!style|unit)[A-Za-z]{0,20}|printbibliography|printbibheading|nobibliography\*?)(?![A-Za-z@])"
    r"\s*(?:\[[^\]]{0,300}\])?(?:\s*\{(?P<names>[^{}]{0,1000})\})?"
)
_RESOURCES: Final = re.compile(
    r"\\(?:addbibresource|addglobalbib|bibliography[A-Za-z]{0,20})\s*(?:\[[^\]]{0,300}\])?\s*\{([^{}]{1,1000})\}"
)
_PACKAGES: Final = re.compile(r"\\(?:usepackage|RequirePackage)\s*(?:\[[^\]]{0,300}\])?\s*\{([^{}]{1,500})\}")
_TOPLEVEL: Final = re.compile(
    r"(?m)^[ \t]{0,20}(\S{1,200})[ \t]{1,20}toplevelfile"
    r'|"?usage"?\s*:\s*"?toplevel"?[^{}]{0,100}?"?filename"?\s*:\s*"?([^"\s,}]{1,200})'
    r'|"?filename"?\s*:\s*"?([^"\s,}]{1,200})"?[^{}]{0,100}?"?usage"?\s*:\s*"?toplevel'
)
_USUAL: Final = frozenset(("ms", "main", "paper", "article", "arxiv", "manuscript"))
_SOURCE: Final = (".tex", ".ltx", ".latex", ".tex_")


@dataclass(slots=True)
class Project:
    """A paper's source. ``text``: of its main file with all that it includes; ``bibs``: texts of the BibTeX files it uses.

    ``body``: the part of it that it prints, from \\begin{document}.
    """

    name: str
    text: str
    macros: dict[str, Macro]
    bibs: list[str] = field(default_factory=list)

    @property
    def body(self) -> str:
        """The part of the source that is printed."""
        found = _BEGIN.search(self.text)
        return self.text[found.end() :] if found else self.text

    @property
    def preamble(self) -> str:
        """The part of the source before that."""
        found = _BEGIN.search(self.text)
        return self.text[: found.start()] if found else ""


def project(files: dict[str, bytes], name: str, limits: Limits, warnings: list[str]) -> Project:
    """Return the source of the paper in these files. Raises NotAPaper if none is LaTeX, and TooLarge (``limits.size``)."""
    reader = _Reader(files, name, limits)
    main = _main(reader)
    if main is None:
        raise NotAPaper(f"{name}: an archive without LaTeX: {', '.join(list(files)[:5])}")
    text = until_end(reader.flat(main))
    others = [path for path in files if path != main and path not in reader.used and _is_document(reader, path)]
    if others:
        warnings.append(f"other documents of the archive were not read: {', '.join(others[:5])}")
    macros = definitions(text)
    for packages in _PACKAGES.finditer(text):
        for package in packages[1].split(","):
            path = reader.find(package.strip() + ".sty", posixpath.dirname(main))
            if path is not None and len(files[path]) <= _MAX_PACKAGE:
                own = definitions(reader.source(path))
                macros = {**{key: macro for key, macro in own.items() if "@" not in macro.body}, **macros}
    bibs = []
    for resources in _RESOURCES.finditer(text):
        for resource in resources[1].split(","):
            stem = resource.strip().removesuffix(".bib")
            path = reader.find(stem + ".bib", posixpath.dirname(main))
            attached = reader.attached.get(stem + ".bib")
            if path is not None and path not in reader.used:
                reader.used.add(path)
                bibs.append(decoded(files[path]))
            elif attached is not None:
                bibs.append(attached)
    return Project(main, text, macros, bibs)


class _Reader:
    """Reads and joins the files of an archive."""

    def __init__(self, files: dict[str, bytes], name: str, limits: Limits) -> None:
        self.files, self.name, self._limits = files, name, limits
        self.attached: dict[str, str] = {}
        self.used: set[str] = set()
        self._lower: dict[str, str] = {}
        for path in sorted(files, reverse=True):
            self._lower[path.lower()] = path
        self._sources: dict[str, str] = {}
        self._main = ""

    def source(self, path: str) -> str:
        """Return the cleaned text of a file."""
        if path not in self._sources:
            self._sources[path] = cleaned(decoded(self.files[path]), self.attached)
        return self._sources[path]

    def find(self, name: str, *folders: str) -> str | None:
        """Return the path of the file that a name in the source means."""
        for folder in dict.fromkeys((*folders, "")):
            path = posixpath.normpath(posixpath.join(folder, name.strip().strip('"')))
            for each in (path, path.lower()):
                if (found := each if each in self.files else self._lower.get(each)) is not None and found:
                    return found
        return None

    def flat(self, main: str) -> str:
        """Return the text of the main file with all that it includes."""
        self._main = main
        parts: list[str] = []
        size = included = 0
        stack = [(main, self.source(main), 0)]
        self.used.add(main)
        while stack:
            path, text, at = stack.pop()
            found = _INCLUSION.search(text, at)
            part = text[at : found.start() if found else len(text)]
            size += len(part)
            if size > self._limits.size:
                raise TooLarge(f"{self.name}: its source and what it includes have more than {self._limits.size} characters")
            parts.append(part)
            if found is None:
                continue
            stack.append((path, text, found.end()))
            if found["bibliography"]:
                parts.append(found[0])  # names of BibTeX files
            inner = self._included(found, path)
            if inner and len(stack) < _MAX_DEPTH and included < _MAX_INCLUDED and all(inner != each[0] for each in stack):
                included += 1
                self.used.add(inner)
                stack.append((inner, self.source(inner), 0))
        return "".join(parts)

    def _included(self, found: re.Match[str], path: str) -> str | None:
        """Return the path of the file that a command includes."""
        folders = (posixpath.dirname(self._main), posixpath.dirname(path))
        if found["bibliography"]:
            return self._bibliography(found, path)
        name = found["braced"] or found["bare"] or posixpath.join(found["folder"] or "", found["file"] or "")
        for each in (name + ".tex", name) if not name.lower().endswith(_SOURCE) else (name,):
            inner = self.find(each, *folders)
            if inner is not None:
                return inner
        return None

    def _bibliography(self, found: re.Match[str], path: str) -> str | None:
        """Return the path of the .bbl file that a command such as \\bibliography includes, each file once."""
        command = found["bibliography"].removeprefix("bibliography")
        stems = [command] if command and not command.startswith("print") else []
        stems += [posixpath.splitext(self._main)[0], posixpath.splitext(path)[0]]
        stems += [each.strip().removesuffix(".bib") for each in (found["names"] or "").split(",")[:20] if each.strip()]
        for stem in stems:
            inner = self.find(stem + ".bbl", posixpath.dirname(self._main))
            if inner is not None and inner not in self.used:
                return inner
        alone = [each for each in self.files if each.lower().endswith(".bbl") and each not in self.used]
        if len(alone) == 1 and not any(each.endswith(".bbl") for each in self.used):
            return alone[0]
        return None


def _main(reader: _Reader) -> str | None:
    """Return the path of the main file."""
    files = reader.files
    if len(files) == 1:
        return next(iter(files))
    stated = {
        posixpath.normpath(next(group for group in found.groups() if group))
        for path, content in files.items()
        if posixpath.basename(path).lower().startswith("00readme")
        for found in _TOPLEVEL.finditer(decoded(content[:100_000]))
    }
    ranks = {path: _rank(reader, path, stated) for path in files if _is_readable(path)}
    best = max(ranks, key=lambda path: (ranks[path], path), default=None)
    if best is not None and ranks[best][0]:
        return best
    bibliographies = [path for path in files if path.lower().endswith(".bbl")]
    return max(bibliographies, key=lambda path: len(files[path]), default=best)


def _rank(reader: _Reader, path: str, stated: set[str]) -> tuple[int, ...]:
    source = reader.source(path)
    kind = _CLASS.search(source)
    stem = posixpath.splitext(path)[0]
    document = int(kind is not None and kind[1] not in ("standalone", "subfiles")) + int(_BEGIN.search(source) is not None)
    return (
        document or int(_PLAIN_TEX.search(source) is not None),
        int(path in stated),
        int(stem + ".bbl" in reader.files),
        int("\\bibliography{" in source or "\\bibitem" in source or "\\printbibliography" in source),
        -path.count("/"),
        int(posixpath.basename(stem).lower() in _USUAL),
        len(source),
    )


def _is_document(reader: _Reader, path: str) -> bool:
    if not _is_readable(path):
        return False
    source = reader.source(path)
    kind = _CLASS.search(source)
    return kind is not None and kind[1] not in ("standalone", "subfiles") and _BEGIN.search(source) is not None


def _is_readable(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return name.endswith(_SOURCE) or ("." not in name and not name.startswith(("makefile", "readme", "license")))
