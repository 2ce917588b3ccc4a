"""Topic ``papers``: XML bytes, optionally compressed, or a pointer to a file; headers say which."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from schemas.envelope import Event

#: Header: how the value (or the file it points to) is compressed. Absent: identity.
ENCODING_HEADER: Final = "reflink-encoding"
#: Header: what the value is, ``xml`` (also when absent) or ``pointer`` (a PaperPointer).
CONTENT_HEADER: Final = "reflink-content"
#: Header: the paper's version, a decimal integer. Absent: the record's timestamp in milliseconds.
VERSION_HEADER: Final = "reflink-version"

Encoding = Literal["identity", "gzip", "zstd"]
Content = Literal["xml", "pointer"]


class PaperPointer(Event):
    """A paper above the message limit: a file under the workers' allowed root.

    ``path`` is relative to that root, ``sha256`` (64 hexadecimal digits) and ``size`` (bytes) are of the file as stored.
    """

    path: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]
