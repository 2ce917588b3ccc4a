"""Recognise the kind of a cited work that is neither an article nor a book, by words and forms that only this kind has.

A text with volume, page and year of a journal has a kind only if it cites a court's decision, a law or a patent: an article's
title may contain every other word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from reflink.entities import Kind
from reflink.recognition.several import has_locator

#: Maximum characters that are searched.
_MAX_TEXT: Final = 2000

_NUMBER: Final = r"(?:n[oº°.ro]{0,3}\s?)?\d"
_OFFICES: Final = (
    r"(?:U\.?\s?S\.?(?:\s?A\.?)?|EP|EPO|WO|PCT|JP|CN|DE|GB|FR|KR|RU|CA|European|Japan(?:ese)?|Chin(?:a|ese)|German|British)"
)
#: Signs of each kind. A sign that begins with ``\\b`` has no other alternative that does not.
_WORDS: Final[dict[Kind, tuple[str, ...]]] = {
    "note": (
        r"(?i:^\W*(?:ibid(?:em)?|idem|op\.? ?cit|loc\.? ?cit|supra)\b)",
        r"(?i:^\W*(?:see|cf\.?|vide)\s(?:also\s)?(?:above|below|supra|infra|notes?|refs?\.?|references?|footnotes?)\b[\s\w,.]{0,20}$)",
        r"\b(?:op|loc)\. ?cit\.",
        r"^[^\d]{0,120}\b(?:in|see|to)\s(?:[Rr]efs?\.|[Rr]eferences?)\s\d{1,3}\W*$",
    ),
    "patent": (
        rf"\b{_OFFICES}\s(?:[Pp]at(?:ent)?s?\b\.?|[Pp]atent\s[Aa]pplication)",
        r"\b(?:US|EP|WO|JP|CN|DE|GB|KR)[\s-]?(?:\d{2,4}[/-])?(?:\d{5,}|\d{1,2},\d{3},\d{3})\s?[ABCU]\d?\b",
        r"\b[Pp]atente?\s(?:[Aa]ppl\w*\.?\s|[Nn]o\.?\s|[Nn]umber\s)(?:[A-Z]{2}\s?)?\d",
        r"\bWO[/ ]?\d{4}/\d{4,6}\b",
        r"\b[Pp]atent\s(?:US|EP|WO|JP|CN|DE|GB)\b",
    ),
    "case": (
        r"\bv(?:s|ersus)?\.?\s.{1,120}\b\d{1,4}\s(?:U\.?\s?S\.?|F\.\s?(?:2d|3d|Supp)|S\.\s?Ct|L\.\s?Ed|[NS]\.?[EW]\.?\s?2d|A\.\s?2d|P\.\s?2d|"
        r"Cal\.|N\.Y\.|E\.?H\.?R\.?R|E\.?C\.?R|S\.?C\.?R|C\.?L\.?R)\b",
        r"\bv\.?\s.{1,120}[\[(]\d{4}[\])]\s(?:\d\s)?(?:AC|QB|KB|Ch|WLR|All\sER|UKHL|UKSC|EWCA|EWHC|HCA|SCC|SCR|IR|NZLR)\b",
        r"\bCase\s[CT][-‐–]\d{1,4}/\d{2}\b",
    ),
    "statute": (
        r"\bPub(?:lic|\.)?\s?L(?:aw\b|\.)\s?(?:No\.?\s?)?\d{2,3}[-–]\d",
        r"\b\d{1,3}\s?(?:U\.\s?S\.\s?C\.|USC|C\.\s?F\.\s?R\.|CFR)\b",
        r"\b(?:Directive|Regulation|Decision|Verordnung|Richtlinie)\s(?:\((?:EU|EC|EEC|EG|EWG|UE)\)\s?)?(?:No\.?\s?)?\d{1,4}/\d{2,4}\b",
        r"\b(?:Official Journal of the European (?:Union|Communit)|Off\.? J\.? Eur\.?)",
        r"\b(?:Federal Register|Fed\.? Regist?(?:er)?\b|Bundesgesetzblatt|BGBl\b|Di[áa]rio Oficial)",
        rf"\b(?:Lei|Ley|Decreto(?:-[Ll]ei)?|Real Decreto|Portaria|Resolu[çc][ãa]o|Instru[çc][ãa]o Normativa|Delibera[çc][ãa]o)"
        rf"\b[^.;]{{0,40}}\b{_NUMBER}",
        r"^[^.;:]{3,100}\bAct,?\s(?:of\s)?(?:1[89]|20)\d\d\b",
    ),
    "standard": (
        r"\b(?:ISO|IEC|ASTM|ANSI|DIN|JIS|ETSI|NBR|IEEE\sStd\.?|IEEE\sStandard|GB/T|BS\sEN|EN\sISO|ISO/(?:IEC|TS|TR|DIS|FDIS))"
        r"[\s:-]{0,2}[A-Z]{0,2}[\s-]?\d{2,6}",
        r"^[^.]{0,60}\bRFC\s?\d{3,4}\b",
    ),
    "thesis": (
        r"\b(?:Ph\.?\s?D\.?|[Dd]octoral|[Mm]aster[’']?s?|M\.?\s?[AS]c?\.?|[Dd]iploma|[Bb]achelor[’']?s?|[Hh]onou?rs)[\s,]{1,2}"
        r"(?:[Tt]hesis|[Dd]issertation|[Dd]iss\b)",
        r"[\[(](?:[^\[\]()]{0,30}\s)?(?:thesis|dissertation|tese|disserta[çc][ãa]o|tesis|th[èe]se"
        r"|T(?:hesis|ese|esis|hèse)|D(?:issertation|isserta[çc][ãa]o))\b[^\[\]()]{0,40}[\])]",
        r"\b(?:Tese|Tesis|Disserta[çc][ãa]o)\.?\s(?:\(|de\s|apresentada\s|submetida\s)?"
        r"(?i:doutorado|mestrado|doctorado|ao programa)",
        r"[.,]\sPh\.?\s?D\.?,?\s(?:The\s)?(?:[A-Z]\w+\s){0,4}Universit",
        r"[.,]\s(?:Thesis|Dissertation|Doktorarbeit|Dissertationsschrift|Th[èe]se(?: de doctorat)?|Tesis(?: doctoral)?)[.,:]\s",
        r"\b(?:thesis|dissertation)[\s,.(]{1,3}(?:[A-Z]\w+\s){0,3}(?:University|Universit[äéy]t?)\b",
    ),
    "unpublished": (
        r"\b(?i:pers(?:onal|\.)?\s?comm(?:unication|\.))",
        r"\b(?i:unpublished\s(?:data|results?|observations?|work|manuscript|report|doc))",
        r"(?i:[,.(]\s?unpublished\s?[).,]?\s?$)",
        r"\b(?i:(?:in preparation|submitted(?: for publication)?)\s?[).,;]*(?:\s?\d{4}[).]*)?$)",
        r"\b(?i:comunica[çc][ãa]o pessoal)",
    ),
    "data": (
        r"(?i:[\[(](?:data ?sets?|data(?:base)?|data files?)[\])])",
        r"\b(?:Dryad(?:\sD(?:igital|ata)|[.,:])|PANGAEA\b"
        r"|Sci(?:ence)?\s?D(?:ata\s?)B(?:ank)?\b|Harvard Dataverse\b|Mendeley Data\b|GBIF\sOccurrence)",
        r"\b(?i:data ?sets?\b.{0,80}\b(?:figshare|zenodo)\b|(?:figshare|zenodo)\b.{0,40}\bdata ?sets?\b)",
        r"\b(?:GSE\d{3,}|PRJ(?:NA|EB|DB)\d{3,}|phs\d{6}|PXD\d{6}|E-MTAB-\d+|SR[PRX]\d{6,})\b",
        r"\b(?:(?:Protein|Magnetic Resonance) Data Bank"
        r"|ArrayExpress|ProteomeXchange|Sequence Read Archive|kaggle\.com/datasets)\b",
    ),
    "software": (
        r"(?i:[\[(](?:computer |mobile )?(?:software|program(?:me)?|app|code|source code)[\])])",
        r"\bR(?:\s(?:[Pp]ackage|Foundation for Statistical)|:\s?[Aa] [Ll]anguage and [Ee]nvironment)",
        r"\b(?:StataCorp|Stata Statistical Software|SAS Institute"
        r"|SPSS,?\s(?:Inc|Statistics|Version)|IBM SPSS|The MathWorks|Schr[öo]dinger,?\sLLC|BioRender)\b",
        r"^(?=.*\b(?:[Vv]ersion|[Vv]ers\.|[Rr]elease)\s?\d{1,4}(?:\.\d{1,4})+\b)"
        r"(?!.*(?i:handbook|guideline|criteria|terminolog|\bdata\b|database|manual\b))",
        r"\bv\.?\s?\d{1,3}\.\d{1,4}(?:\.\d{1,4})?\b",
        r"\b(?i:github(?:\.com|\srepository))",
    ),
    "report": (
        r"\b(?:Technical|Annual|Final|Progress|Statistical|Project|Synthesis|Evaluation|Mission|Summary|Status|Assessment|Workshop)\s[Rr]eports?\b",
        r"\b(?:Report|Rep\.|Bulletin|Paper|Publication)\s(?:Series\s)?(?:No\b\.?|Number|#)\s?[\w-]*\d",
        r"\b(?i:(?:working|discussion|white|policy|occasional|research|briefing) papers?\b)",
        r"\b(?i:(?:status|survey|health|expert|agency|scientific) report\b|report (?:of|on|to|from|by) (?:the|an?)\b)",
        r"\b(?i:(?:relat[óo]rio|informe final|rapport (?:final|annuel|d)|abschlussbericht|fact ?sheet)\b)",
    ),
    "web": (
        r"https?\s?://(?!\s?(?:dx\.)?doi\.org)",
        r"\bwww\.",
        r"(?i:[\[(](?:internet|online|web ?(?:site|page)|home ?page|blog)[\])])",
        r"\b(?i:(?:available|accessible|retrieved|found)\s?(?:online\s?)?(?:from|at|via|in|on)?\s?:"
        r"|(?:dispon[íi]vel em|disponible en|abgerufen|consult[ée]e? le)\b)",
        r"\b(?i:(?:last )?(?:accessed|visited|retrieved|assessed)(?: on| in|:)?\s\(?"
        r"(?:\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))",
        r"(?i:\[(?:cited|citado|updated|accessed)\b)",
    ),
}  # fmt: skip
#: Volume and pages of an article: "39, 783-790", "39(2): 783–90".
_PAGES: Final = re.compile(r"(?<![\d.])\d{1,4}(?:\s?\([^()]{1,12}\))?\s?[:,]\s?\d{1,5}\s?[-–]\s?\d{1,5}(?!\d)")
#: A chapter or a contribution to a conference.
_CONTAINED: Final = re.compile(r"\b[Ii]n: .{3,}|\b(?:Proceedings|Conference|Symposium|Workshop|Congress)\b")
#: Kinds that have a volume, a page and a year of their own, or numbers like these.
_LOCATED: Final[frozenset[Kind]] = frozenset(("case", "statute", "patent", "note"))


def _any(kinds: Iterable[Kind]) -> re.Pattern[str]:
    """Return one pattern for all signs of the kinds; it tries those that begin a word at the beginnings of words only."""
    signs = [sign for kind in kinds for sign in _WORDS[kind]]
    at_words = "|".join(f"(?:{sign[2:]})" for sign in signs if sign.startswith(r"\b"))
    return re.compile("|".join((rf"\b(?:{at_words})", *(f"(?:{sign})" for sign in signs if not sign.startswith(r"\b")))))


_PATTERNS: Final = {kind: _any((kind,)) for kind in _WORDS}
#: Signs of all kinds that a text with the volume and page of an article may have, and that another text may have.
_ALL: Final = {True: _any(_LOCATED), False: _any(_WORDS)}


def kind_of(text: str) -> Kind | None:
    """Return the kind of the work that a citation, as written, cites; None if it is an article or a book, or without a sign."""
    text = text[:_MAX_TEXT]
    located = _PAGES.search(text) is not None or has_locator(text)
    if not _ALL[located].search(text):
        return None
    for kind, pattern in _PATTERNS.items():
        if (kind in _LOCATED or not located) and pattern.search(text):
            return None if kind == "web" and _CONTAINED.search(text) else kind
    return None
