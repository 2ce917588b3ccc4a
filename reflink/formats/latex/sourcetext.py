"""Prepare the source of one file: decode it, and remove comments, verbatim text and what TeX does not read."""

from __future__ import annotations

import codecs
import re
from typing import Final

_INPUTENC: Final = re.compile(
    rb"\\(?:usepackage|RequirePackage)\s*\[([A-Za-z0-9_,\- ]{1,100})\]\s*\{inputenc\}|\\inputencoding\{([\w-]{1,40})\}"
)
#: Names of inputenc's encodings that Python does not know by the same name.
_ENCODINGS: Final = {
    "latin9": "iso8859-15", "latin10": "iso8859-16", "ansinew": "cp1252", "applemac": "mac_roman", "macce": "mac_latin2",
    "next": "cp1252", "koi8-r": "koi8_r", "utf8x": "utf-8", "ascii": "cp1252",
}  # fmt: skip
#: What a comment, verbatim text or the end of the file begins with; addresses are skipped, since their % is none.
_STEP: Final = re.compile(
    r"\\(?:url|href|path|nolinkurl|doi|Eprint|verb)\b\*?(?:\s*\{[^{}\n]{0,2000}\}|(?<=verb)([^\sA-Za-z{*])[^\n]{0,500}?\1)?"
    r"|\\begin\s{0,10}\{(?P<skipped>verbatim\*?|Verbatim|BVerbatim|LVerbatim|lstlisting|minted|comment|alltt|tikzpicture|filecontents\*?)\}"
    r"|\\(?P<false>iffalse|if0)(?![A-Za-z@])|^[ \t]*\\(?P<end>endinput)\b|\\.|(?P<comment>%[^\n]*(?:\n[ \t]*)?)",
    re.MULTILINE | re.DOTALL,
)
_CONDITIONAL: Final = re.compile(r"\\(if(?![fF]?thenelse)[A-Za-z@]*|else|fi)(?![A-Za-z@])")
#: INSPIRE writes the title into a comment, since journals of high-energy physics print none.
_TITLE: Final = re.compile(r"%+[ \t]*(``[^\n]{5,400}?(?:''|\")[,.]?)[ \t]*$", re.MULTILINE)
_CITATION: Final = re.compile(r"%+[ \t]*CITATION\s?=\s?([^;%\n]{3,60})")
_DOCUMENT_END: Final = re.compile(r"\\end\s{0,10}\{document\}")


def decoded(data: bytes) -> str:
    """Return the source as text: in UTF-8, UTF-16 by its byte order mark, the encoding that it declares, or Windows-1252."""
    for bom, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(bom):
            return _lines(data.decode(encoding, "replace"))
    try:
        return _lines(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        found = _INPUTENC.search(data)
        options = (found[1] or found[2]).decode().split(",") if found else []
        for option in reversed(options):
            name = _ENCODINGS.get(option.strip(), option.strip())
            try:
                if codecs.lookup(name).name != "utf-8":
                    return _lines(data.decode(name, "replace"))
            except (LookupError, UnicodeError, AttributeError):
                continue
        return _lines(data.decode("cp1252", "replace"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ").replace("\x01", " ")


def cleaned(text: str, attached: dict[str, str] | None = None) -> str:
    """Return the source without comments, verbatim text and false conditionals, up to its end.

    A title and an identifier that INSPIRE hides in comments become the commands ``\\reflinktitle`` and ``\\reflinkcitation``.
    ``attached``: gets the text of files that the source contains (filecontents), by name.
    """
    parts: list[str] = []
    at, ends = 0, True
    while found := _STEP.search(text, at):
        kind = found.lastgroup
        if kind not in ("skipped", "false", "end", "comment"):
            parts.append(text[at : found.end()])
            at = found.end()
            continue
        parts.append(text[at : found.start()])
        if kind == "comment":
            parts.append(_hidden(found[0]))
            at = found.end()
        elif kind == "end":
            return "".join(parts)
        elif kind == "false":
            stop = _after_false(text, found.end()) if ends else -1
            at, ends = (stop, True) if stop >= 0 else (found.end(), False)
        else:
            closing = f"\\end{{{found['skipped']}}}"
            stop = text.find(closing, found.end())
            content = text[found.end() : stop if stop >= 0 else len(text)]
            if attached is not None and found["skipped"].startswith("filecontents"):
                head = re.match(r"\s*(?:\[[^\]]{0,100}\])?\s*\{([^{}\n]{1,200})\}", content)
                if head:
                    attached.setdefault(head[1].strip(), content[head.end() :])
            at = stop + len(closing) if stop >= 0 else len(text)
    parts.append(text[at:])
    return "".join(parts)


def _hidden(comment: str) -> str:
    """Return what a comment of INSPIRE states, as a command; "" for any other comment."""
    if "CITATION" in comment and (found := _CITATION.match(comment)):
        return f"\\reflinkcitation{{{found[1].strip()}}} "
    if "``" in comment and (found := _TITLE.match(comment)) and found[1].count("{") == found[1].count("}"):
        return f"\\reflinktitle{{{found[1]}}} "
    return ""


def _after_false(text: str, start: int) -> int:
    """Return the position after the \\else or \\fi that ends the false branch that begins at ``start``; -1 without one."""
    depth = 0
    for found in _CONDITIONAL.finditer(text, start):
        if found[1] == "fi":
            if not depth:
                return found.end()
            depth -= 1
        elif found[1] == "else":
            if not depth:
                return found.end()
        else:
            depth += 1
    return -1


def until_end(text: str) -> str:
    """Return the source up to \\end{document}."""
    found = _DOCUMENT_END.search(text)
    return text[: found.start()] if found else text
