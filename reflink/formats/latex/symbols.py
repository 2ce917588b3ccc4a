"""The characters that commands of TeX print: accents, letters, symbols, and the journals' names of AAS's macros."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

#: Combining character of each accent.
ACCENTS: Final = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307", '"': "\u0308",
    "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328", "b": "\u0331", "t": "\u0361",
    "acute": "\u0301", "grave": "\u0300", "hat": "\u0302", "tilde": "\u0303", "bar": "\u0304",
    "ddot": "\u0308", "dot": "\u0307",
    "check": "\u030c", "breve": "\u0306", "vec": "\u20d7", "widehat": "\u0302", "widetilde": "\u0303", "overline": "\u0304",
}  # fmt: skip
#: Accents of letters in mathematics; in text they are commands as any other.
MATHEMATICAL: Final = frozenset(name for name in ACCENTS if len(name) > 1)
_WORDS: Final = {
    "ss": "ß", "SS": "SS", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
    "AA": "Å", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ",
    "times": "×", "pm": "±", "mp": "∓", "to": "→", "rightarrow": "→", "leftarrow": "←", "leftrightarrow": "↔", "sim": "∼",
    "simeq": "≃", "approx": "≈", "ell": "ℓ", "infty": "∞", "hbar": "ħ", "hslash": "ħ", "leq": "≤", "le": "≤", "geq": "≥",
    "ge": "≥", "cdot": "·", "varepsilon": "ε", "varphi": "φ", "vartheta": "ϑ", "varrho": "ϱ", "varsigma": "ς", "varpi": "ϖ",
    "neq": "≠", "ne": "≠", "ll": "≪", "gg": "≫", "lesssim": "≲", "gtrsim": "≳", "propto": "∝", "equiv": "≡", "partial": "∂",
    "nabla": "∇", "int": "∫", "sum": "∑", "prod": "∏", "sqrt": "√", "in": "∈", "subset": "⊂", "cup": "∪", "cap": "∩",
    "oplus": "⊕", "otimes": "⊗", "dagger": "†", "dag": "†", "ddag": "‡", "star": "⋆", "ast": "∗", "circ": "∘", "bullet": "•",
    "prime": "′", "odot": "⊙", "sun": "☉", "langle": "⟨", "rangle": "⟩", "forall": "∀", "exists": "∃", "emptyset": "∅",
    "aleph": "ℵ", "Re": "ℜ", "Im": "ℑ", "perp": "⊥", "parallel": "∥", "degree": "°", "deg": "deg", "textdegree": "°",
    "ldots": "…", "dots": "…", "cdots": "⋯", "textellipsis": "…", "S": "§", "P": "¶", "copyright": "©", "textcopyright": "©",
    "pounds": "£", "textregistered": "®", "texttrademark": "™", "euro": "€", "texteuro": "€", "textendash": "–",
    "ndash": "–", "mdash": "—",
    "textemdash": "—", "textquotedblleft": "“", "textquotedblright": "”", "textquoteleft": "‘", "textquoteright": "’",
    "quotedblbase": "„", "quotesinglbase": "‚", "textquotesingle": "'", "textquotedbl": '"', "guillemotleft": "«",
    "guillemotright": "»", "glqq": "„", "grqq": "“", "glq": "‚", "grq": "‘", "flqq": "«", "frqq": "»", "og": "« ", "fg": " »",
    "lq": "‘", "rq": "’", "textbackslash": "\\", "backslash": "\\", "textasciitilde": "~", "textasciicircum": "^",
    "textunderscore": "_", "textless": "<", "textgreater": ">", "textbar": "|", "textbullet": "•", "textperiodcentered": "·",
    "textmu": "µ", "textordmasculine": "º", "textordfeminine": "ª", "textonehalf": "½", "textsection": "§", "slash": "/",
    "lbrack": "[", "rbrack": "]", "lbrace": "{", "rbrace": "}", "vert": "|", "mid": "|", "Vert": "‖", "colon": ":",
    "quad": " ", "qquad": " ", "space": " ", "enspace": " ", "thinspace": " ", "enskip": " ", "nobreakspace": " ", "hfill": " ",
    "hfil": " ", "linebreak": " ", "newline": " ", "break": " ", "hyphen": "-", "textendashbib": "–", "TeX": "TeX",
    "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX", "bibrangedash": "–", "bibdatedash": "–", "bibnamedelima": " ",
    "bibnamedelimb": " ", "bibnamedelimc": " ", "bibnamedelimd": " ", "bibnamedelimi": " ", "bibinitdelim": " ",
    "bibinitperiod": ".", "bibinithyphendelim": "-", "bibpagespunct": ", ", "bibrangessep": ", ", "addspace": " ",
    "addcomma": ",", "adddot": ".", "addcolon": ":", "addsemicolon": ";", "autocap": "", "mkbibquote": "", "etal": "et al.",
    "textnumero": "№", "No": "№", "cyrchar": "", "textsuperscript": "", "Sun": "☉", "BIBand": "and", "BBA": "&", "BCBT": ",",
    "BBCQ": "", "BEd": "ed.", "BEds": "eds.", "BBOQ": "", "BPG": "p.", "BPGS": "pp.", "BVOL": "vol.", "BNUM": "no.", "Bem": "",
    "betal": "et al.",
}  # fmt: skip
#: Macros of AAS, used as names of journals in the bibliographies of astronomy.
JOURNALS: Final = {
    "aj": "AJ", "actaa": "Acta Astron.", "araa": "ARA&A", "apj": "ApJ", "apjl": "ApJL", "apjlett": "ApJL", "apjs": "ApJS",
    "apjsupp": "ApJS", "ao": "Appl. Opt.", "applopt": "Appl. Opt.", "apss": "Ap&SS", "aap": "A&A", "astap": "A&A",
    "aapr": "A&A Rev.", "aaps": "A&AS", "azh": "AZh", "baas": "BAAS", "bac": "Bull. Astron. Inst. Czechosl.",
    "caa": "Chin. Astron. Astrophys.", "cjaa": "Chin. J. Astron. Astrophys.", "icarus": "Icarus",
    "jcap": "J. Cosmol. Astropart. Phys.",
    "jrasc": "JRASC", "memras": "MmRAS", "mnras": "MNRAS", "na": "New Astron.", "nar": "New Astron. Rev.",
    "pra": "Phys. Rev. A",
    "prb": "Phys. Rev. B", "prc": "Phys. Rev. C", "prd": "Phys. Rev. D", "pre": "Phys. Rev. E", "prl": "Phys. Rev. Lett.",
    "pasa": "PASA", "pasp": "PASP", "pasj": "PASJ", "rmxaa": "RMxAA", "qjras": "QJRAS", "skytel": "S&T",
    "solphys": "Sol. Phys.",
    "sovast": "Soviet Ast.", "ssr": "Space Sci. Rev.", "zap": "ZAp", "nat": "Nature", "iaucirc": "IAU Circ.",
    "aplett": "Astrophys. Lett.", "apspr": "Astrophys. Space Phys. Res.", "bain": "Bull. Astron. Inst. Netherlands",
    "fcp": "Fund. Cosmic Phys.", "gca": "Geochim. Cosmochim. Acta", "grl": "Geophys. Res. Lett.", "jcp": "J. Chem. Phys.",
    "jgr": "J. Geophys. Res.", "jqsrt": "J. Quant. Spec. Radiat. Transf.", "memsai": "Mem. Soc. Astron. Italiana",
    "nphysa": "Nucl. Phys. A", "physrep": "Phys. Rep.", "physscr": "Phys. Scr", "planss": "Planet. Space Sci.",
    "procspie": "Proc. SPIE", "ppsn": "", "psj": "PSJ", "maps": "Meteorit. Planet. Sci.", "lnp": "Lect. Notes Phys.",
    "rmp": "Rev. Mod. Phys.", "aapl": "A&A", "mmsai": "Mem. Soc. Astron. Italiana", "epsl": "Earth Planet. Sci. Lett.",
}  # fmt: skip
#: The control symbols that print something; the others print nothing.
CHARACTERS: Final = {
    "&": "&", "%": "%", "$": "$", "#": "#", "_": "_", "{": "{", "}": "}", " ": " ", "\n": " ", "\t": " ", ",": " ", ";": " ",
    ":": " ", ">": " ", "|": "‖",
}  # fmt: skip


@lru_cache(maxsize=1 << 12)
def character(name: str) -> str | None:
    """Return what the command ``\\name`` prints; None if it is not one of a letter, symbol or journal."""
    found = _WORDS.get(name)
    if found is None:
        found = JOURNALS.get(name)
    return _greek(name) if found is None else found


def accented(letter: str, accent: str) -> str:
    """Return the letter with the accent that the command ``accent`` prints."""
    plain = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    return unicodedata.normalize("NFC", plain + ACCENTS[accent]) if plain.isalpha() else plain


def _greek(name: str) -> str | None:
    if len(name) > 9 or not name.isalpha() or not name.isascii():
        return None
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {'LAMDA' if name.lower() == 'lambda' else name.upper()}")
    except KeyError:
        return None
