"""The catalog: the works that references can be linked to, with identifiers and indexes, mapped from disk and extendable."""

from reflink.catalog.catalog import Catalog
from reflink.catalog.encoding import ReusingEncoder
from reflink.catalog.snapshot import Manifest

__all__ = ["Catalog", "Manifest", "ReusingEncoder"]
