"""Topic ``papers``: a paper's bytes, optionally compressed, or a pointer to a file, as the headers specify."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from schemas.envelope import Event

#: Header: the compression of the value, or of the file that it points to. Absent: identity.
ENCODING_HEADER: Final = "reflink-encoding"
#: Header: the content of the value, ``paper`` (the default) or ``pointer`` (a PaperPointer).
CONTENT_HEADER: Final = "reflink-content"
#: Header: the format of the paper, e.g. ``tei``. Absent: told by content.
FORMAT_HEADER: Final = "reflink-format"
#: Header: the paper's version, a decimal integer. Absent: the record's timestamp in milliseconds.
VERSION_HEADER: Final = "reflink-version"

Encoding = Literal["identity", "gzip", "zstd"]
Content = Literal["paper", "pointer"]


class PaperPointer(Event):
    """A paper above the message limit, stored as a file under the root folder that the workers allow.

    ``path`` is relative to that root. ``sha256`` (64 hexadecimal digits) and ``size`` (bytes) describe the file as stored.
    """

    path: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]
