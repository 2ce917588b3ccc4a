"""Small invented sets in the formats of the third-party ones."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

from benchmarks.labels import glutton

PEAS = "Inheritance of colours in garden peas and their hybrids"
RAYS = "Radiation emitted by salts of uranium compounds"
SPRINGS = "Springs that are extended in proportion to forces"
BROKEN = PEAS.replace("garden", "gar-\nden")
CITATIONS = [
    {
        "reference": f"Mendel G, Darwin C. {BROKEN}. J Plants 1999;12:34-\n9. doi:10.1000/peas", "doi": "10.1000/PEAS",
        "pmid": "101", "atitle": PEAS, "firstAuthor": "Mendel", "jtitle": "J Plants", "volume": "12", "firstPage": "34",
    },
    {
        "reference": f"Curie M. {RAYS}. Ann Rays 2001;7:88.", "doi": "10.1000/rays", "atitle": RAYS, "jtitle": "Ann Rays",
        "volume": "7", "firstPage": "88",
    },
    {
        "reference": f"M. Curie, {RAYS}, Annals of Rays 7 (2001) 88", "doi": "10.1000/rays", "atitle": RAYS,
        "firstAuthor": "Curie", "jtitle": "Annals of Rays", "volume": "7", "firstPage": "88",
    },
    {
        "reference": f"Hooke R. {SPRINGS}. Mech Lett 1988;3:5.", "doi": "10.1000/spring", "atitle": SPRINGS,
        "jtitle": "Mech Lett", "volume": "3", "firstPage": "5",
    },
]  # fmt: skip
OF_PEAS = {
    "title": PEAS, "authors": ["Mendel", "Darwin"], "venue": "J Plants", "year": 1999, "volume": "12", "fpage": "34",
    "title_group": "peas",
}  # fmt: skip
WORKS = [
    {"id": "pmid:101", "pmid": "101", **OF_PEAS},
    {"id": "doi:10.1000/twin", "doi": "10.1000/twin", **OF_PEAS},
    {"id": "pmid:999", "pmid": "999", "title": RAYS, "authors": ["Curie"], "venue": "Ann Rays", "year": 2001, "volume": "7",
     "fpage": "88"},
    {"id": "pmid:555", "pmid": "555", "title": "A census of beetles in old forests of the north", "authors": ["Wallace"],
     "venue": "Beetles", "year": 1970, "volume": "1", "fpage": "1"},
]  # fmt: skip
RELEASES = [
    {"ident": "a", "title": "Growth of crystals", "subtitle": "a study of ice in clouds", "release_year": 2001,
     "contribs": ["Ann Bo", None], "container": "J Ice", "volume": "4", "pages": "17-19"},
    {"ident": "b", "title": "Growth of crystals: a study of ice in clouds", "subtitle": None, "release_year": 2001,
     "contribs": ["Bo, Ann"], "container": "Journal of Ice", "volume": "4", "pages": "17"},
    {"ident": "c", "title": "Beetles of the north", "subtitle": None, "release_year": 1970, "contribs": [],
     "container": None, "volume": None, "pages": None},
]  # fmt: skip
LABELS = [
    ("a", "b", "Status.EXACT", "TITLE_AUTHOR_MATCH"),
    ("a", "c", "Status.DIFFERENT", "YEAR"),
    ("b", "c", "Status.AMBIGUOUS", ""),
]  # fmt: skip
COLUMNS = "id%title%authors%venue%year\n"
ACM = COLUMNS + (
    "0%Views over &quot;old&quot; relations in stores%Ann Bo, Cy D&#252;r%Very Large Data Bases%1999\n"
    "1%Joins of many large tables on disks%Eve Fox%ACM SIGMOD Record%2001\n"
)
DBLP = COLUMNS + (
    '0%"Beetles 100% counted"%Al Gore%VLDB%1990\n'
    "1%Views over Old Relations in Stores%Ann Bo, Cy Dür%VLDB%1999\n"
    "2%Joins of Many Large Tables on Disks%Eve Fox%SIGMOD Record%2001\n"
)
TITLED = "COL title VAL views over old relations in stores COL authors VAL ann bo , cy dür "
LEFT = TITLED + "COL venue VAL vldb COL year VAL 1999 "
RIGHT = TITLED + "COL venue VAL very large data bases COL year VAL 1999.0 "
OTHER = "COL title VAL beetles of the north COL authors VAL  COL venue VAL  COL year VAL 1970 "


def packed(path: Path, text: str) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


def written(folder: Path) -> Path:
    """``folder`` with small files in the formats of all three sets and of the catalog."""
    for name in ("biblio_glutton", "fuzzycat", "dblp_acm"):
        (folder / "benchmarks" / name).mkdir(parents=True)
    packed(folder / "works.jsonl.gz", "".join(f"{json.dumps(work)}\n" for work in WORKS))
    packed(folder / "benchmarks" / "biblio_glutton" / glutton.FILE, json.dumps(CITATIONS))
    packed(folder / "benchmarks" / "fuzzycat" / "releases.jsonl.gz", "".join(f"{json.dumps(each)}\n" for each in RELEASES))
    with (folder / "benchmarks" / "fuzzycat" / "verify.csv").open("w", newline="") as file:
        csv.writer(file).writerows(LABELS)
    papers = folder / "benchmarks" / "dblp_acm"
    (papers / "acm.csv").write_text(ACM, encoding="utf-8")
    (papers / "dblp.csv").write_text(DBLP, encoding="utf-8")
    (papers / "gt.csv").write_text("D1%D2\n1%0\n2%1\n")
    for kind in ("structured", "dirty"):
        packed(papers / f"ditto_{kind}_test.txt.gz", f"{LEFT}\t{RIGHT}\t1\n{LEFT}\t{OTHER}\t0\n")
    return folder
