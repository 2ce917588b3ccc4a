"""Limits and word lists of the evidence, shared by its kernels (`reflink.verdict.kernels`)."""

from __future__ import annotations

from typing import Final

#: Maximum characters of a title and of a citation that are compared; longer ones are broken records.
TITLE_LIMIT: Final = 400
RAW_LIMIT: Final = 1500
#: Maximum number of authors compared (collaborations list thousands), and of characters of a name.
AUTHOR_LIMIT: Final = 40
NAME_LIMIT: Final = 300
#: Years of this absolute value or more are errors in the record and are ignored.
YEAR_LIMIT: Final = 10_000

#: Words of a last name that do not identify it.
PARTICLES: Final = frozenset("van von de der den la le du da di del dela della dos das el al bin ibn ter ten zu".split())
SUFFIXES: Final = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md", "et"])
#: Agreement of a misspelt name, and the minimum letters of a name in which one slip is allowed, and two.
MISSPELT: Final = 0.8
ONE_SLIP: Final = 5
TWO_SLIPS: Final = 8
#: Maximum number of a work's authors to search for in a citation without tagged names: "et al." hides the rest.
NAMED: Final = 3

#: Beginnings of the DOIs of preprint servers (bioRxiv and medRxiv, arXiv, Research Square, SSRN, Preprints.org, OSF) and of
#: data repositories (figshare, Dryad, Zenodo, Mendeley Data, Dataverse).
DEPOSITS: Final = (
    *(f"10.1101/{digit}" for digit in range(10)), "10.48550/", "10.21203/", "10.2139/", "10.20944/", "10.31219/", "10.31234/",
    "10.6084/", "10.5061/", "10.5281/", "10.17632/", "10.7910/",
)  # fmt: skip

#: Minimum characters of a title that can be a longer title without its subtitle; an addition of at most ADDITION characters is
#: not a subtitle ("Part II").
BEGINNING: Final = 20
ADDITION: Final = 12

VENUE_STOP: Final = frozenset(
    ("of the and in for on a an de la le les du des der die das und et y e del di da do dos den van voor to at by part").split()
)
#: Minimum letters of a venue's name that can be recognised in a citation.
NAMED_VENUE: Final = 6
#: Minimum share of a venue's words that a citation has, abbreviated or not, so that it names the venue.
HALF_VENUE: Final = 0.5
#: Minimum letters of an abbreviation of a venue of one word, and of one word of an abbreviation of several words.
SHORT_VENUE: Final = 4
SHORT_WORD: Final = 3

#: Agreement of a volume that lacks digits of the other, and of a page that many works share.
CUT: Final = 0.5
WEAK: Final = 0.5
#: Agreement of a page that differs by one slip, and the minimum characters of such a page.
NEAR: Final = 0.75
LONG_PAGE: Final = 3
#: Minimum digits at the end of a DOI that are an article number.
ARTICLE: Final = 4
#: Agreement of a volume or a page that the reference does not tag and that does not occur in its text.
UNSEEN: Final = 0.25
#: Minimum length, in characters, of a citation without identifiers that gives evidence about the work.
BARE: Final = 8
