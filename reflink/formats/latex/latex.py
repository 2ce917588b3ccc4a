"""The format LaTeX: what arXiv gives as the source of a paper, a document, or a .bbl file."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from reflink.bibliography import papers
from reflink.errors import NotAPaper
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.latex import archive
from reflink.formats.latex.bibliography import bibliography
from reflink.formats.latex.body import paragraphs
from reflink.formats.latex.front import front
from reflink.formats.latex.project import project

_SIGN: Final = re.compile(
    r"\\document(?:class|style)\b|\\begin\s{0,10}\{(?:document|thebibliography|references|biblist)\}|\\bibitem\s*[\[{]"
    r"|^[ \t]{0,20}\\(?:entry|refsection|sortlist)\{"
    r"|\\input\s+(?:harvmac|phyzzx|amstex|lanlmac)|\\(?:magnification|bib\{|lref\\)",
    re.MULTILINE,
)
#: An entry of BibTeX, whose values may hold any command.
_RECORD: Final = re.compile(r"^\s{0,20}@[A-Za-z]{2,20}\s{0,20}\{[^\s{},]{1,200},", re.MULTILINE)
#: Characters of a text in which a sign of LaTeX is searched.
_HEAD: Final = 1 << 17
_REFUSED: Final = {
    b"%PDF": "a PDF without LaTeX source: convert it with GROBID and send its TEI",
    b"%!PS": "PostScript without LaTeX source",
    b"%!": "PostScript without LaTeX source",
}


class Latex(Format):
    """LaTeX sources, with their bibliographies."""

    name: ClassVar[str] = "latex"
    about: ClassVar[str] = "LaTeX: archives as arXiv gives them, .tex and .bbl files"
    endings: ClassVar[tuple[str, ...]] = (".tex", ".bbl", ".tar.gz", ".tgz", ".tar", ".gz")

    def recognises(self, content: Content) -> bool:
        """Return whether the content is an archive, or text with commands of LaTeX that only documents have."""
        data = content.data
        if data.startswith(archive.GZIP):
            head = archive.head(data)
            if archive.is_tar(head):
                return archive.is_paper(head)
            return head.startswith((b"%PDF", b"%!PS")) or _is_latex(Content(head))
        return archive.is_paper(data) if archive.is_tar(data) else _is_latex(content)

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the paper. Raises NotAPaper for archives without source, such as those of a PDF."""
        warnings: list[str] = []
        files = archive.members(content.data, content.name, options.limits, warnings)
        if len(files) == 1:
            data = next(iter(files.values()))
            for start, reason in _REFUSED.items():
                if data.lstrip()[:8].startswith(start):
                    raise NotAPaper(f"{content.name}: {reason}")
        source = project(files, content.name, options.limits, warnings)
        entries = bibliography(source, content.name, options.limits)
        fields = front(source, content.source)
        paper = papers.paper(
            fields, entries, own_name=papers.own_name(content.data, content.source), source=content.source,
            limits=options.limits, infer=options.infer, warnings=tuple(warnings),
        )  # fmt: skip
        return (Parsed(paper, paragraphs(source, entries) if options.text else ()),)


def _is_latex(content: Content) -> bool:
    text = content.text
    if (
        text is None
        or "\\" not in text[:_HEAD]
        or text.startswith("#!")
        or content.root is not None
        or content.json is not None
    ):
        return False
    sign = _SIGN.search(text, 0, _HEAD)
    record = _RECORD.search(text, 0, sign.start()) if sign else None
    return sign is not None and (record is None or "\\begin{filecontents" in text[: record.start()])
