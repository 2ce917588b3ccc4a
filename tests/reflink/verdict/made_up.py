"""Families with too few cases in the real data: invented records, and the errors that paper 003 names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reflink.entities import Reference, Work


@dataclass(frozen=True)
class Invented:
    """A reference, the works of its catalog, and the cited one of them, if any.

    ``other``: the work that must be named as the runner-up.
    """

    family: str
    name: str
    reference: Reference
    works: tuple[Work, ...]
    cited: str | None
    other: str | None = None

    def __str__(self) -> str:
        return f"{self.family}-{self.name}-{'refuse' if self.cited is None else 'link'}"


def _work(
    title: str | None, authors: str, venue: str | None, year: int, volume: str | None = None, page: str | None = None
) -> Work:
    number = f"{year}.{volume or 0}.{page or 0}".replace(" ", "")
    return Work(
        id=f"doi:10.5555/{number}", title=title, authors=tuple(authors.split(", ")), venue=venue, year=year, volume=volume,
        fpage=page,
    )  # fmt: skip


def _citing(work: Work, venue: str | None, text: str = "", title: str | None = None, authors: str | None = None) -> Reference:
    """Return a reference to the work with another spelling of the venue, and optionally of title and authors."""
    names = tuple(authors.split(", ")) if authors else work.authors
    values = (*names, title or work.title, venue, str(work.year), work.volume, work.fpage)
    return Reference(
        id="doi:10.5555/0#1", citing="doi:10.5555/0", position=1, title=title or work.title, last_names=names, venue=venue,
        year=work.year, volume=work.volume, first_page=work.fpage, raw_text=text or " ".join(filter(None, values)),
    )  # fmt: skip


ABSTRACT, PREPRINT, EDITIONS = "conference abstract and paper", "preprint and journal version", "editions of a book"
TRANSLATED, SCRIPTS = "translations and other languages", "CJK and Cyrillic titles"
WITHIN = "title within a title, same authors"

SNOW = "Snow depth by drone over alpine pastures"
SNOW_TALK = _work(SNOW, "Varga, Lindqvist", "Cryosphere Days, Book of Abstracts", 2014, None, "A117")
SNOW_PAPER = _work(SNOW, "Varga, Lindqvist, Oyelaran", "Journal of Mountain Measurement", 2016, "31", "204")
BEES = "Night foraging of bumblebees under street lamps"
BEES_TALK = _work(f"P-213 {BEES}", "Marchetti, Holm", "Insect Behaviour", 2010, "44 Suppl 1", "S88")
BEES_PAPER = _work(BEES, "Marchetti, Holm, Dube", "Annals of Pollination", 2012, "9", "61")
KILN = "Ceramic membranes fired at low temperature"
KILN_TALK = _work(KILN, "Osei, Park", "Proceedings of the 7th Membrane Workshop", 2008, None, "51")
KILN_PAPER = _work(f"{KILN}: strength and flux over a year of use", "Osei, Park", "Membrane Letters", 2009, "18", "1207")

SEALS = "Counting seals from satellite images with few labels"
SEALS_PREPRINT = _work(SEALS, "Nakagawa, Brandt, Silva", "bioRxiv", 2019)
SEALS_PAPER = _work(SEALS, "Nakagawa, Brandt, Silva", "Remote Ecology", 2020, "12", "345")
FLOODS_PREPRINT = _work("Sparse gauges suffice for flood warning", "Achebe, Moreau", "arXiv", 2017)
FLOODS_PAPER = _work("Sparse gauges suffice for flood warning", "Achebe, Moreau", "Water Forecasting", 2018, "7", "19")
SPONGES_PREPRINT = _work("A slow clock in sponge cells", "Ionescu, Tran, Weiss", "bioRxiv", 2021)
SPONGES_PAPER = _work("A slow clock in the cells of sponges", "Ionescu, Tran, Weiss", "Cell Rhythms", 2022, "3", "88")
LARVAE = _work("A fast clock in sponge larvae", "Ionescu, Tran, Weiss", "bioRxiv", 2020)

PEAT = "Principles of Peat Science"
PEAT_2 = _work(f"{PEAT}, 2nd edition", "Hargreaves", None, 1998)
PEAT_3 = _work(f"{PEAT}, 3rd edition", "Hargreaves", None, 2011)
GLASS_1 = _work(None, "Delacroix, Ito", "Handbook of Glass Fatigue", 1987)
GLASS_4 = _work(None, "Delacroix, Ito, Quist", "Handbook of Glass Fatigue, 4th ed.", 2015)

BUCKWHEAT = _work("Влияние влажности почвы на урожай гречихи", "Соколов, Белова", "Почвоведение и урожай", 1979, "14", "77")
BUCKWHEAT_ENGLISH = _work(
    "Effect of soil moisture on the yield of buckwheat", "Sokolov, Belova", "Soil Science and Harvest", 1980, "14", "61"
)
EELS_SPELT = "Ueber die Wanderung der Aale in kalten Fluessen"
EELS = _work("Über die Wanderung der Aale in kalten Flüssen", "Grünwald", "Zeitschrift für Flusskunde", 1931, "8", "112")
EELS_ENGLISH = _work("On the migration of eels in cold rivers", "Grünwald", "River Papers", 1954, "2", "9")

MAIZE = _work("黄土高原坡地玉米根系分布的观测", "王, 李, 陈", "旱地农学", 2006, "24", "31")
WHEAT = _work("黄土高原坡地小麦根系分布的观测", "王, 李, 陈", "旱地农学", 2007, "25", "58")
WINTER = _work("雪国における果樹の越冬性", "高橋, 佐々木", "寒地園芸", 1994, "11", "5")
COLD = _work("雪国における果樹の耐寒性", "高橋, 佐々木", "寒地園芸", 1996, "13", "42")
PADDY = _work("논 토양의 질소 순환에 관한 연구", "김, 박", "농업환경", 2011, "30", "201")
UPLAND = _work("밭 토양의 질소 순환에 관한 연구", "김, 박", "농업환경", 2013, "32", "77")
POLLEN_1 = _work("Морфология пыльцы степных злаков. I. Ковыль", "Орлова", "Ботанические записки", 1968, "53", "14")
POLLEN_2 = _work("Морфология пыльцы степных злаков. II. Типчак", "Орлова", "Ботанические записки", 1969, "54", "90")
STORKS = _work("Миграция на щъркелите над Добруджа", "Петков, Иванова", "Птици и хора", 2003, "7", "120")
CRANES = _work("Миграция на жеравите над Добруджа", "Петков, Иванова", "Птици и хора", 2005, "9", "33")

# The three errors that paper 003 names (its Table 4), with the fields that it gives: a title, authors and a year.
SUN = _work("The Maunder Minimum", "Eddy", None, 1976)
SUN_AGAIN = _work("The Maunder Minimum: A reappraisal", "Eddy", None, 1983)
MACHINES = _work("Support Vector Machines", "James, Witten, Hastie, Tibshirani", None, 2013)
MACHINES_1_NORM = _work("1-norm Support Vector Machines", "Zhu, Rosset, Tibshirani, Hastie", None, 2003)
_WATER = "The Putative Liquid-Liquid Transition is a Liquid-Solid Transition in Atomistic Models of Water"
WATER = _work(_WATER, "Chandler, Limmer", None, 2013)
WATER_2 = _work(f"{_WATER}. II", "Limmer, Chandler", None, 2011)
_CONTAINED = ((SUN, SUN_AGAIN), (MACHINES, MACHINES_1_NORM), (WATER, WATER_2))

#: Family, cited work, reference, and similar works.
_CITED = (
    (ABSTRACT, SNOW_PAPER, _citing(SNOW_PAPER, "J. Mt. Meas."), SNOW_TALK),
    (ABSTRACT, SNOW_TALK, _citing(SNOW_TALK, "Cryosphere Days"), SNOW_PAPER),
    (ABSTRACT, BEES_PAPER, _citing(BEES_PAPER, "Ann Pollination"), BEES_TALK),
    (ABSTRACT, BEES_TALK, _citing(BEES_TALK, "Insect Behav", title=BEES), BEES_PAPER),
    (ABSTRACT, KILN_TALK, _citing(KILN_TALK, "Proc. 7th Membrane Workshop"), KILN_PAPER),
    (EDITIONS, PEAT_3, _citing(PEAT_3, None, f"Hargreaves T. {PEAT}. 3rd ed. 2011.", PEAT), PEAT_2),
    (EDITIONS, PEAT_2, _citing(PEAT_2, None, f"Hargreaves T. {PEAT}. 2nd ed. 1998.", PEAT), PEAT_3),
    (EDITIONS, GLASS_1, _citing(GLASS_1, GLASS_1.venue), GLASS_4),
    (TRANSLATED, BUCKWHEAT, _citing(BUCKWHEAT, "Почвовед. и урожай"), BUCKWHEAT_ENGLISH),
    (TRANSLATED, BUCKWHEAT_ENGLISH, _citing(BUCKWHEAT_ENGLISH, "Soil Sci. Harvest"), BUCKWHEAT),
    (TRANSLATED, EELS, _citing(EELS, "Z. Flusskunde", "", EELS_SPELT, "Gruenwald"), EELS_ENGLISH),
    (TRANSLATED, EELS_ENGLISH, _citing(EELS_ENGLISH, "River Papers", authors="Grunwald"), EELS),
    (SCRIPTS, MAIZE, _citing(MAIZE, "旱地农学"), WHEAT),
    (SCRIPTS, WHEAT, _citing(WHEAT, "旱地农学"), MAIZE),
    (SCRIPTS, WINTER, _citing(WINTER, "寒地園芸"), COLD),
    (SCRIPTS, PADDY, _citing(PADDY, "농업환경"), UPLAND),
    (SCRIPTS, POLLEN_1, _citing(POLLEN_1, "Бот. записки"), POLLEN_2),
    (SCRIPTS, POLLEN_2, _citing(POLLEN_2, "Бот. записки"), POLLEN_1),
    (SCRIPTS, STORKS, _citing(STORKS, "Птици и хора"), CRANES),
)
#: The cited version, the reference, and the other version, which must be the runner-up.
_VERSIONS = (
    (SEALS_PREPRINT, "bioRxiv", SEALS_PAPER),
    (SEALS_PAPER, "Remote Ecol.", SEALS_PREPRINT),
    (FLOODS_PREPRINT, "arXiv", FLOODS_PAPER),
    (FLOODS_PAPER, "Water Forecast.", FLOODS_PREPRINT),
    (SPONGES_PAPER, "Cell Rhythms", SPONGES_PREPRINT),
)


def _all() -> Iterator[Invented]:
    for family, work, reference, beside in _CITED:
        yield Invented(family, work.id, reference, (work, beside), work.id)
        yield Invented(family, work.id, reference, (beside,), None)
    for work, venue, other in _VERSIONS:
        yield Invented(PREPRINT, work.id, _citing(work, venue), (work, other), work.id, other.id)
    for pair in _CONTAINED:
        for work, beside in (pair, pair[::-1]):
            yield Invented(WITHIN, work.id, _citing(work, None), (work, beside), work.id)
            yield Invented(WITHIN, work.id, _citing(work, None), (beside,), None)
    yield Invented(PREPRINT, LARVAE.id, _citing(LARVAE, "bioRxiv"), (SPONGES_PREPRINT, SPONGES_PAPER), None)


INVENTED = list(_all())
