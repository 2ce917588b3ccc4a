"""The catalog: every work that can be linked to, its identifiers and indexes, mapped from disk and growing."""

from reflink.catalog.catalog import Catalog
from reflink.catalog.encoding import CachedEncoder, VectorCache
from reflink.catalog.snapshot import Manifest

__all__ = ["CachedEncoder", "Catalog", "Manifest", "VectorCache"]
