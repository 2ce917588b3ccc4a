"""Crossref's metadata with reference lists: works in JSON, and the XML of deposits and of answers to queries."""

from reflink.formats.crossref.deposits import Deposits as Deposits
from reflink.formats.crossref.works import Works as Works
