"""References and papers as LaTeX, in the styles of physics and in the shares that paper 001 states."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from hashlib import sha1
from typing import Final

from reflink.entities import Reference, Work

#: Orders of the fields, with the numbers of samples in Table 5.1: authors, journal, year, title.
ORDERS: Final = {"AJY": 45_000, "TAJY": 4_500, "ATJY": 11_250, "AJYT": 3_130}
#: Bibliographies and their entries. The numbers of files come from Tables 5.2 and 5.3, one of which counts the bibliographies
#: and the other the entries; the division of the rarer entries among the environments is ours.
LISTS: Final = {
    ("thebibliography", "\\bibitem"): 28_278, ("thebibliography", "\\bibit"): 16, ("references", "\\bibitem"): 3_402,
    ("references", "\\item"): 1_016, ("references", "[NUMBER]"): 950, ("ref", "\\ref"): 865, ("ref", "[NUMBER]"): 344,
    ("bibliography", "\\noindent"): 226, ("bibliography", "[NUMBER]"): 85, ("bye", "[NUMBER]"): 290,
    ("numberedbib", "\\bibitem"): 1,
}  # fmt: skip
#: Share of the references that follow another one in its item, behind a semicolon, where that one ends in its locator. The
#: paper states none.
SEVERAL: Final = 0.15
#: Maximum number of authors that are printed in the papers that shorten longer lists to "et al.".
_FEW: Final = 3
_ACCENTS: Final = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c", "\u0328": "k",
}  # fmt: skip
_MARKS: Final = {
    "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}", "~": "\\~{}", "^": "\\^{}",
    "\\": "{$\\backslash$}", "–": "--", "—": "---", "‐": "-", "‑": "-", "−": "{$-$}", "“": "``", "”": "''", "‘": "`", "’": "'",
    "ß": "\\ss{}", "ø": "\\o{}", "Ø": "\\O{}", "æ": "\\ae{}", "Æ": "\\AE{}", "œ": "\\oe{}", "ł": "\\l{}", "Ł": "\\L{}",
    "ı": "\\i{}", "\u00a0": "~", "×": "{$\\times$}", "°": "{$^\\circ$}", "±": "{$\\pm$}", "′": "{$'$}",
}  # fmt: skip


def tex(text: str) -> str:
    """Return a text as LaTeX source, with accents and Greek letters as commands."""
    out: list[str] = []
    for char in unicodedata.normalize("NFC", " ".join(text.split())):
        if char.isascii() and (char.isalnum() or char == " "):
            out.append(char)
            continue
        parts = unicodedata.normalize("NFD", char)
        name = unicodedata.name(char, "").split()
        if char in _MARKS:
            out.append(_MARKS[char])
        elif len(parts) == 2 and parts[1] in _ACCENTS and parts[0].isascii():
            accent = _ACCENTS[parts[1]]
            letter = "\\i" if parts[0] == "i" else parts[0]
            out.append(f"\\{accent}{{{letter}}}")
        elif name[:1] == ["GREEK"] and name[-2:-1] == ["LETTER"]:
            word = name[-1].lower()
            out.append(f"{{$\\{word if 'SMALL' in name else word.capitalize()}$}}")  # two formulas side by side have no $$
        else:
            out.append(char)
    return "".join(out)


def initial(name: str) -> str:
    """Return the initial of a person whose given names the data lack: the same letter for each bearer of a last name."""
    return chr(ord("A") + sha1(name.encode()).digest()[0] % 26)


class Style:
    """How one paper prints its references: drawn once for each paper."""

    def __init__(self, draw: random.Random) -> None:
        self._space = draw.choice(("~", " ", ""))
        self._shortens = draw.random() < 0.5
        self._comma = draw.random() < 0.3
        self._quotes = draw.choice((("``", ",''"), ("{\\it ", "},"), ("", ",")))
        self._place = draw.choice((
            "{venue} {{\\bf {volume}}} ({year}) {page}", "{venue} {{\\bf {volume}}}, {page} ({year})",
            "{venue} {volume} ({year}) {page}", "{{\\it {venue}}} {{\\bf {volume}}}, {page} ({year})",
        ))  # fmt: skip

    def citation(self, reference: Reference, order: str) -> str:
        """Return a reference as LaTeX. A title that the order wants and the reference lacks is left out."""
        parts = {
            "A": self._authors(reference.last_names) + ",",
            "J": self._journal(reference) + ",",
            "T": f"{self._quotes[0]}{tex(reference.title.rstrip('. '))}{self._quotes[1]}" if reference.title else "",
        }
        shown = [parts[letter] for letter in order if parts.get(letter)]
        return " ".join(shown).rstrip(",")

    def _authors(self, names: Sequence[str]) -> str:
        people = [f"{initial(name)}.{self._space}{tex(name)}" for name in names]
        if len(people) > _FEW and self._shortens:
            return f"{people[0]} {{\\it et al.}}"
        last = ", and " if self._comma and len(people) > 2 else " and "
        return last.join([", ".join(people[:-1]), people[-1]] if len(people) > 1 else people)

    def _journal(self, reference: Reference) -> str:
        venue = tex(reference.venue or "")
        if reference.volume and reference.first_page:
            where = {"volume": tex(reference.volume), "page": tex(reference.first_page), "year": reference.year}
            return self._place.format(venue=venue, **where)
        return f"{venue} ({reference.year})"


def bibliography(references: Sequence[Reference], draw: random.Random) -> list[str]:
    """Return the items of a paper's bibliography, most of them of one work."""
    style = Style(draw)
    orders = draw.choices(list(ORDERS), list(ORDERS.values()), k=len(references))
    items: list[str] = []
    before = ""
    for reference, order in zip(references, orders, strict=True):
        text = style.citation(reference, order)
        if items and before != "AJYT" and draw.random() < SEVERAL:
            items[-1] += f"; {text}"
        else:
            items.append(text)
        before = order
    return items


def source(title: str, authors: Sequence[str], references: Sequence[Reference], draw: random.Random) -> str:
    """Return a paper's LaTeX: title, authors, a text that cites, and the bibliography."""
    environment, entry = draw.choices(list(LISTS), list(LISTS.values()))[0]
    items = bibliography(references, draw)
    keys = [f"r{number}" for number in range(1, len(items) + 1)]
    people = [f"{initial(name)}. {tex(name)}" for name in authors]
    body = f"The question was studied before \\cite{{{','.join(keys)}}}.\n"
    if environment in ("bye", "ref"):
        head = f"\\magnification=1200\n\\centerline{{\\bf {tex(title)}}}\n\\centerline{{{', '.join(people)}}}\n\n"
        body = "The question was studied before.\n"
    else:
        and_ = " \\and "
        head = (
            "\\documentstyle[12pt]{article}\n\\begin{document}\n"
            f"\\title{{{tex(title)}}}\n\\author{{{and_.join(people)}}}\n\\maketitle\n"
        )
    begin, end = {
        "thebibliography": ("\\begin{thebibliography}{99}", "\\end{thebibliography}\n\\end{document}"),
        "references": ("\\begin{references}", "\\end{references}\n\\end{document}"),
        "numberedbib": ("\\begin{numberedbib}", "\\end{numberedbib}\n\\end{document}"),
        "bibliography": ("\\section*{Bibliography}", "\\end{document}"),
        "ref": ("\\centerline{\\bf References}", "\\end"),
        "bye": ("\\centerline{\\bf References}", "\\bye"),
    }[environment]
    lines = [
        f"{_begin(entry, number, key)}{item}{_end(entry)}"
        for number, (key, item) in enumerate(zip(keys, items, strict=True), 1)
    ]
    return f"{head}\\section{{Introduction}}\n{body}\n{begin}\n" + "\n".join(lines) + f"\n{end}\n"


def _begin(entry: str, number: int, key: str) -> str:
    match entry:
        case "\\bibitem" | "\\bibit":
            return f"{entry}{{{key}}} "
        case "[NUMBER]":
            return f"\\noindent [{number}] "
        case "\\ref":
            return "\\ref{"
        case _:
            return f"{entry} "


def _end(entry: str) -> str:
    return ".}\n" if entry == "\\ref" else ".\n"


def abstract(work: Work, number: str, *, journal: bool, submitted: int) -> str:
    """Return the .abs file of a work. ``journal``: with Journal-ref, if the work has one."""
    people = ", ".join(name if name in work.collectives else f"{initial(name)}. {tex(name)}" for name in work.authors)
    lines = [f"Paper: hep-ph/{number}", f"Date: Mon, 6 Jul {submitted} 12:00:00 GMT", "", f"Title: {tex(work.title or '')}"]
    lines += [f"Authors: {people}"] if people else []
    if journal and work.venue and work.volume and work.fpage and work.year:
        lines.append(f"Journal-ref: {tex(work.venue)} {tex(work.volume)} ({work.year}) {tex(work.fpage)}")
    return "-" * 78 + "\n\\\\\n" + "\n".join(lines) + "\n\\\\\n\\\\\n"
