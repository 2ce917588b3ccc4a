"""The sources by name. Their modules are imported on demand, since each needs other packages."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from reflink.sources.source import Source

_CLASSES: Final = {
    "medline": "reflink.sources.medline:Medline",
    "crossref": "reflink.sources.crossref:Crossref",
    "openalex": "reflink.sources.openalex:OpenAlex",
    "pmc": "reflink.sources.pmc:Pmc",
    "datacite": "reflink.sources.datacite:DataCite",
    "arxiv": "reflink.sources.arxiv:Arxiv",
    "s2": "reflink.sources.s2:SemanticScholar",
    "csl": "reflink.sources.csl:Csl",
    "bibtex": "reflink.sources.bibtex:Bibtex",
    "ris": "reflink.sources.ris:Ris",
}
#: The names of the sources.
NAMES: Final = tuple(_CLASSES)


def source(name: str) -> Source:
    """Return the source with this name, one of NAMES."""
    module, _, cls = _CLASSES[name].partition(":")
    found: type[Source] = getattr(import_module(module), cls)
    return found()
