"""PubMed Central: lists of identifiers and of files, metadata of article versions, and articles."""

from reflink.sources.pmc.articles import article as article
from reflink.sources.pmc.articles import metadata as metadata
from reflink.sources.pmc.lists import rows as rows
from reflink.sources.pmc.reading import Pmc as Pmc
