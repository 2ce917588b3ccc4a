"""The text of a LaTeX source: paragraphs with sections, mentions and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from reflink.bibliography.references import Entry
from reflink.contexts.paragraphs import Paragraph, Part
from reflink.formats.latex.commands import bibliography_commands
from reflink.formats.latex.cutting import cut
from reflink.formats.latex.markers import Markers
from reflink.formats.latex.project import Project
from reflink.formats.latex.rendering import Handler, Renderer

#: Parts of the source that are no text: bibliographies, and definitions of harvmac.
_BIBLIOGRAPHY: Final = re.compile(
    r"\\begin\s{0,10}\{(?P<name>thebibliography|references|biblist|numberedbib)\}|\\(?P<biblatex>refsection\s*\{|sortlist\s*(?:\[[^\]]{0,100}\])?\{|datalist\[)"
)
#: Where a bibliography outside of an environment begins.
_REST: Final = re.compile(r"\\(?:bibitem|Refs|listrefs)(?![A-Za-z@])")
_LEVELS: Final = {"part": 0, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
_SECTIONS: Final = {**_LEVELS, "newsec": 2, "subsec": 3, "subsubsec": 4, "heading": 2, "beginsection": 2, "chap": 1}
_FORMULAS: Final = frozenset(
    "equation align eqnarray gather multline displaymath math alignat flalign subequations IEEEeqnarray dmath split".split()
)
_FLOATS: Final[dict[str, Part]] = {
    "figure": "caption", "wrapfigure": "caption", "SCfigure": "caption", "teaserfigure": "caption", "algorithm": "caption",
    "table": "table", "wraptable": "table", "deluxetable": "table", "longtable": "table", "sidewaystable": "table",
    "sidewaysfigure": "caption", "abstract": "abstract", "acknowledgments": "back", "acknowledgements": "back", "ack": "back",
    "acknowledgement": "back",
}  # fmt: skip
#: Number of arguments of an environment, which print nothing.
_ARGUMENTS: Final = {
    "tabular": 1, "tabular*": 2, "tabularx": 2, "array": 1, "minipage": 1, "multicols": 1, "alignat": 1, "wrapfigure": 2,
    "wraptable": 2, "deluxetable": 1, "longtable": 1, "subfigure": 1, "IEEEeqnarray": 1, "adjustbox": 1, "spacing": 1,
}  # fmt: skip
_LISTS: Final = frozenset(
    "itemize enumerate description list quote quotation center flushleft flushright proof theorem lemma definition".split()
)
_MAX_DEFERRED: Final = 20_000
_MAX_TITLE: Final = 300


@dataclass(slots=True)
class _Deferred:
    """Source of text that stands outside the text around it: a float, a note."""

    position: int
    source: str
    part: Part
    section: tuple[str, ...] = ()


@dataclass(slots=True)
class _State:
    """What a rendering collects."""

    deferred: list[_Deferred] = field(default_factory=list)


def paragraphs(project: Project, entries: Sequence[Entry]) -> tuple[Paragraph, ...]:
    """Return the paragraphs of the text, with mentions of the entries, in the order of the source."""
    reader = _Body(project, entries)
    return tuple(reader.read(_without_bibliography(project.body)))


def _without_bibliography(text: str) -> str:
    parts: list[str] = []
    at = 0
    while found := _BIBLIOGRAPHY.search(text, at):
        ends = (f"\\end{{{found['name']}}}",) if found["name"] else ("\\endrefsection", "\\endsortlist", "\\enddatalist")
        stops = [stop + len(end) for end in ends if (stop := text.find(end, found.end())) >= 0]
        parts.append(text[at : found.start()])
        at = min(stops, default=len(text))
    text = "".join((*parts, text[at:]))
    rest = _REST.search(text)
    return text[: rest.start()] if rest else text


class _Body:
    """Reads the text of one paper."""

    def __init__(self, project: Project, entries: Sequence[Entry]) -> None:
        self._state = _State()
        self._markers = Markers(project.text, entries)
        commands = self._commands()
        for entry in entries:
            if (
                entry.xml_id and f"\\{entry.xml_id}" in project.text and entry.xml_id.isalpha()
            ):  # harvmac names entries by macros
                commands.setdefault(entry.xml_id, self._markers.named(entry.xml_id))
        self._renderer = Renderer(project.macros, commands, len(project.text))

    def read(self, text: str) -> Iterable[Paragraph]:
        """Yield the paragraphs of a source; those of a float or note follow the paragraph in which it stands."""
        waiting: list[_Deferred | Paragraph] = [_Deferred(0, text, "body")]
        count = 0
        while waiting:
            each = waiting.pop()
            if isinstance(each, Paragraph):
                yield each
                continue
            count += 1
            if count > _MAX_DEFERRED:
                break
            self._state = _State()
            rendered, marks = self._renderer.render(each.source)
            found, sections = cut(rendered, marks, each.part, each.section)
            for number, deferred in enumerate(self._state.deferred):
                deferred.section = sections.get(str(number), each.section)
            placed: list[tuple[int, _Deferred | Paragraph]] = [(item.position, item) for item in self._state.deferred]
            # Paragraphs come before what stands within them, and behind what stands before them.
            waiting += [item for _, item in sorted([*found, *placed], key=itemgetter(0), reverse=True)]

    # What commands do.

    def _commands(self) -> dict[str, Handler]:
        found = bibliography_commands()
        drop = found["label"]
        names = """title author affiliation address email date keywords pacs institute thanks icmltitle icmlauthor preprint
        affil altaffiliation orcid titlerunning authorrunning subjclass msc jel ccsdesc acmConference received accepted
        published journal footnotemark includegraphics epsfig epsfbox psfig bibliographystyle bibliography nocite
        nobibliography graphicspath pagenumbering newcolumntype hypersetup geometry pagestyle lstset vspace hspace
        addbibresource fancyhead runninghead correspondence shorttitle shortauthors collaboration reflinktitle
        reflinkcitation REF input include"""
        found |= dict.fromkeys(names.split(), drop)
        for name in ("markboth", "setcounter", "addtocounter", "newtheorem", "lref", "nref"):
            found[name] = self._two
        for name, level in _SECTIONS.items():
            found[name] = _section(level)
        for name in ("footnote", "footnotetext", "tablenotetext", "endnote", "marginpar"):
            found[name] = self._note
        for name in ("ref", "eqref", "cref", "Cref", "autoref", "pageref", "subref", "vref", "fref"):
            found[name] = _reference
        found |= {
            "begin": self._begin, "end": self._end, "caption": _caption, "captionof": self._captionof, "item": _item,
            "newblock": _space,
            "newline": _space, "appendix": _appendix, "refs": self._refs, "tablecaption": _caption, "figcaption": _caption,
            "textsuperscript": _none,
            "footcite": self._footcite, "footcitetext": self._footcite, "ensuremath": found["ensuremath"],
            "cite": lambda renderer: self._markers.cite(renderer, "cite"),
            "citet": lambda renderer: self._markers.cite(renderer, "citet"),
            "citep": lambda renderer: self._markers.cite(renderer, "citep"),
            "onlinecite": lambda renderer: self._markers.cite(renderer, "cite"),
            "citealt": lambda renderer: self._markers.cite(renderer, "citealt"),
            "citeN": lambda renderer: self._markers.cite(renderer, "citet"),
            "cite*": self._markers.any_cite, "par": _par, "abstract": self._abstract, "and": _space,
            "citestyle": drop, "citenamefont": _none,
        }  # fmt: skip
        return found

    def _two(self, renderer: Renderer) -> None:
        renderer.option()
        renderer.argument()
        renderer.argument()

    def _note(self, renderer: Renderer) -> None:
        renderer.option()
        self._defer(renderer, renderer.argument(), "footnote")

    def _abstract(self, renderer: Renderer) -> None:
        if renderer.follows("{"):
            self._defer(renderer, renderer.argument(), "abstract")

    def _captionof(self, renderer: Renderer) -> None:
        renderer.argument()
        _caption(renderer)

    def _footcite(self, renderer: Renderer) -> None:
        self._markers.cite(renderer, "footcite")

    def _defer(self, renderer: Renderer, source: str, part: Part) -> None:
        renderer.mark("deferred", renderer.length, str(len(self._state.deferred)))
        self._state.deferred.append(_Deferred(renderer.length, source, part))

    def _begin(self, renderer: Renderer) -> None:
        name = renderer.argument().strip()
        plain = name.rstrip("*")
        if plain in _FLOATS and (content := renderer.until(f"\\end{{{name}}}")) is not None:
            self._defer(renderer, content, _FLOATS[plain])
            renderer.space()
            return
        if name in _ARGUMENTS or plain in _ARGUMENTS:
            renderer.option()
            for _ in range(_ARGUMENTS.get(name, _ARGUMENTS.get(plain, 0))):
                renderer.argument()
                renderer.option()
        elif plain in _LISTS or plain in _FLOATS:
            renderer.option()
            _par(renderer)
        if plain in _FORMULAS:
            renderer.begin_formula()
        renderer.space()

    def _end(self, renderer: Renderer) -> None:
        name = renderer.argument().strip().rstrip("*")
        if name in _FORMULAS:
            renderer.end_formula()
        elif name in _LISTS:
            _par(renderer)
        renderer.space()

    def _refs(self, renderer: Renderer) -> None:
        """\\refs of harvmac: names of entries in brackets."""
        renderer.emit("[")
        renderer.push(renderer.argument() + "]")


def _section(level: int) -> Handler:
    def handle(renderer: Renderer) -> None:
        renderer.option()
        source = renderer.argument()
        title = renderer.plain(source[: 10 * _MAX_TITLE])[:_MAX_TITLE].strip()
        renderer.space()
        renderer.mark(f"section:{level}", renderer.length, title)

    return handle


def _caption(renderer: Renderer) -> None:
    renderer.option()
    _par(renderer)
    renderer.mark_next("caption")


def _appendix(renderer: Renderer) -> None:
    renderer.mark("appendix", renderer.length)


def _reference(renderer: Renderer) -> None:
    renderer.option()
    source = renderer.argument()
    if not source.startswith("\\"):
        renderer.emit("#")
        return
    if renderer.follows("{"):  # harvmac's \\ref\\name{entry} defines an entry and cites it
        renderer.argument()
    renderer.push(source + " ")


def _item(renderer: Renderer) -> None:
    _par(renderer)
    if (label := renderer.option()) is not None:
        renderer.push(label + " ")


def _par(renderer: Renderer) -> None:
    if renderer.in_formula:
        renderer.end_formula()
    renderer.space()
    renderer.mark("break", renderer.length)


def _space(renderer: Renderer) -> None:
    renderer.space()


def _none(renderer: Renderer) -> None:
    """Nothing but its arguments is printed."""
