"""The rows of the state: their keys and values as bytes.

A *ref* names a record: ``SOURCE KEY``. Tables, by the first byte of the key:

- ``r`` ref → a source record: flags, version, edition, the id of the work that it belongs to, the work of the record as JSON
- ``k`` identifier → the refs of the records with this identifier, or ``*`` if there are more than MAX_BEARERS
- ``w`` work id → a published work: digest of its JSON, refs of its records, and its JSON unless it is that of its only record
- ``d`` ref → nothing: the record's work must be determined anew
- ``c`` work id → nothing: the work was added, changed or removed since the last publication
- ``b`` hash of a blocking key, ref → nothing; ``e`` ref → records of the same article without a shared identifier
- ``f`` source, path → a file that was read; ``a`` name → facts about the state
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

RECORD, IDENTIFIER, WORK, DIRTY, CHANGED = b"r", b"k", b"w", b"d", b"c"
BLOCK, EDGES, FILE, ABOUT = b"b", b"e", b"f", b"a"

#: Flags of a record. ALONE: it is the only record of its work, and the work is published as the record has it.
PARTIAL, ALONE = 1, 2
#: Maximum number of records with one identifier; one that more records have does not identify a work.
MAX_BEARERS: Final = 64
#: The value of an identifier that too many records have.
TOO_MANY: Final = b"*"

_HEAD: Final = struct.Struct(">BqIIH")
#: The origin of a record that was removed because an edition lacks it; greater than that of every file.
LAST_ORIGIN: Final = 0xFFFFFFFF
_DIGEST: Final = 8


class Row(NamedTuple):
    """A source record.

    ``origin``: number of its file. ``published``: ids of the works that it belongs to, joined. ``json``: empty if withdrawn.
    """

    flags: int
    version: int
    edition: int
    origin: int
    published: bytes
    json: bytes

    @property
    def alone(self) -> bool:
        """Whether the record's work is published exactly as the record has it."""
        return bool(self.flags & ALONE)

    @property
    def partial(self) -> bool:
        """Whether the record only completes others."""
        return bool(self.flags & PARTIAL)

    def to_bytes(self) -> bytes:
        """Return the value of the row."""
        return _HEAD.pack(self.flags, self.version, self.edition, self.origin, len(self.published)) + self.published + self.json

    @classmethod
    def from_bytes(cls, value: bytes) -> Row:
        """Return the row of a value."""
        flags, version, edition, origin, length = _HEAD.unpack_from(value)
        end = _HEAD.size + length
        return cls(flags, version, edition, origin, value[_HEAD.size : end], value[end:])


class Published(NamedTuple):
    """A published work. ``json`` is empty if the work is that of its only record."""

    digest: bytes
    members: frozenset[bytes]
    json: bytes

    def to_bytes(self) -> bytes:
        """Return the value of the row."""
        return self.digest + join(self.members) + b"\n\n" + self.json

    @classmethod
    def from_bytes(cls, value: bytes) -> Published:
        """Return the row of a value."""
        members, _, json = value[_DIGEST:].partition(b"\n\n")
        return cls(value[:_DIGEST], refs(members), json)


def ref_of(source: str, key: str) -> bytes:
    """Return the ref of a record. A key has no white space."""
    return f"{source} {key}".encode(errors="surrogatepass")


def source_of(ref: bytes) -> tuple[str, str]:
    """Return source and key of a ref."""
    source, _, key = ref.decode(errors="surrogatepass").partition(" ")
    return source, key


def join(members: Iterable[bytes]) -> bytes:
    """Return refs as one value, sorted."""
    return b"\n".join(sorted(members))


def refs(value: bytes) -> frozenset[bytes]:
    """Return the refs of a value of `join`."""
    return frozenset(value.split(b"\n")) if value else frozenset()


def digest(json: bytes) -> bytes:
    """Return a short digest of a work's JSON."""
    return hashlib.blake2b(json, digest_size=_DIGEST).digest()


def origin_of(path: Path) -> int:
    """Return the number of a file. Of records with equal versions in two files, the one with the greater number counts."""
    return zlib.crc32(str(path.absolute()).encode(errors="surrogateescape")) % LAST_ORIGIN


def file_key(source: str, path: Path) -> bytes:
    """Return the key of the row of a file."""
    return FILE + f"{source}\0{path.absolute()}".encode(errors="surrogateescape")
