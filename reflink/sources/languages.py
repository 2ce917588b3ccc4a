"""Codes of languages as sources write them ("ger", "de-AT", "German"), as one code: ISO 639-1, else ISO 639-3."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

#: ISO 639-3 (ISO 639-2/T) and ISO 639-1 code of each language that has both.
_TERMINOLOGICAL: Final = (
    "aar:aa abk:ab ave:ae afr:af aka:ak amh:am arg:an ara:ar asm:as ava:av aym:ay aze:az bak:ba bel:be bul:bg "
    "bis:bi bam:bm ben:bn bod:bo bre:br bos:bs cat:ca che:ce cha:ch cos:co cre:cr ces:cs chu:cu chv:cv cym:cy "
    "dan:da deu:de div:dv dzo:dz ewe:ee ell:el eng:en epo:eo spa:es est:et eus:eu fas:fa ful:ff fin:fi fij:fj "
    "fao:fo fra:fr fry:fy gle:ga gla:gd glg:gl grn:gn guj:gu glv:gv hau:ha heb:he hin:hi hmo:ho hrv:hr hat:ht "
    "hun:hu hye:hy her:hz ina:ia ind:id ile:ie ibo:ig iii:ii ipk:ik ido:io isl:is ita:it iku:iu jpn:ja jav:jv "
    "kat:ka kon:kg kik:ki kua:kj kaz:kk kal:kl khm:km kan:kn kor:ko kau:kr kas:ks kur:ku kom:kv cor:kw kir:ky "
    "lat:la ltz:lb lug:lg lim:li lin:ln lao:lo lit:lt lub:lu lav:lv mlg:mg mah:mh mri:mi mkd:mk mal:ml mon:mn "
    "mar:mr msa:ms mlt:mt mya:my nau:na nob:nb nde:nd nep:ne ndo:ng nld:nl nno:nn nor:no nbl:nr nav:nv nya:ny "
    "oci:oc oji:oj orm:om ori:or oss:os pan:pa pli:pi pol:pl pus:ps por:pt que:qu roh:rm run:rn ron:ro rus:ru "
    "kin:rw san:sa srd:sc snd:sd sme:se sag:sg sin:si slk:sk slv:sl smo:sm sna:sn som:so sqi:sq srp:sr ssw:ss "
    "sot:st sun:su swe:sv swa:sw tam:ta tel:te tgk:tg tha:th tir:ti tuk:tk tgl:tl tsn:tn ton:to tur:tr tso:ts "
    "tat:tt twi:tw tah:ty uig:ug ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wln:wa wol:wo xho:xh yid:yi yor:yo "
    "zha:za zho:zh zul:zu"
)
#: ISO 639-2/B codes that differ from those above. MEDLINE and library catalogs use them.
_BIBLIOGRAPHIC: Final = (
    "tib:bo cze:cs wel:cy ger:de gre:el baq:eu per:fa fre:fr arm:hy ice:is geo:ka mao:mi mac:mk may:ms bur:my "
    "dut:nl rum:ro slo:sk alb:sq chi:zh"
)
#: Withdrawn codes, with the present code.
_WITHDRAWN: Final = "scr:hr scc:sr mol:ro hbs:sr iw:he in:id ji:yi jw:jv sh:sr mo:ro"
#: English names, which exports of reference managers have in place of codes.
_NAMES: Final = (
    "afrikaans:af arabic:ar bulgarian:bg catalan:ca chinese:zh croatian:hr czech:cs danish:da dutch:nl english:en "
    "estonian:et finnish:fi french:fr german:de greek:el hebrew:he hindi:hi hungarian:hu icelandic:is indonesian:id "
    "italian:it japanese:ja korean:ko latin:la latvian:lv lithuanian:lt norwegian:no persian:fa polish:pl portuguese:pt "
    "romanian:ro russian:ru serbian:sr slovak:sk slovenian:sl spanish:es swedish:sv thai:th turkish:tr ukrainian:uk "
    "vietnamese:vi"
)
_CODES: Final[dict[str, str]] = {
    long: short
    for table in (_TERMINOLOGICAL, _BIBLIOGRAPHIC, _WITHDRAWN, _NAMES)
    for long, _, short in (pair.partition(":") for pair in table.split())
}
_SHORT: Final = frozenset(_CODES.values())
#: Codes of no language or of several: undetermined, multiple, uncoded, without linguistic content.
_NO_LANGUAGE: Final = frozenset(("und", "mul", "mis", "zxx"))
#: Maximum characters of a code with its regions and variants, or of a name.
_MAX: Final = 40


@lru_cache(maxsize=1 << 12)
def language_code(text: str) -> str | None:
    """Return the ISO 639-1 code of a language (ISO 639-3 if it has none) from a code, a tag or an English name.

    ``ger``, ``deu``, ``de-AT``, ``de_DE`` and ``German`` give ``de``; ``haw`` stays. None if the text is none of these, or
    stands for no language (``und``) or several (``mul``). Whether an unknown code of three letters exists is not checked.
    """
    name = text[:_MAX].strip().lower().replace("_", "-").partition("-")[0]
    if name in _CODES or name in _SHORT:
        return _CODES.get(name, name)
    known = len(name) == 3 and name.isascii() and name.isalpha() and name not in _NO_LANGUAGE
    return name if known and not "qaa" <= name <= "qtz" else None
