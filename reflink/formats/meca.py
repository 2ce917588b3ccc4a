"""MECA packages (NISO RP-30): a zip archive of a manuscript, whose manifest names the JATS article."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final
from urllib.parse import unquote

from lxml import etree

from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.jats import Jats
from reflink.limits import Limits
from reflink.markup.tree import read_tree

_ZIP: Final = b"PK\x03\x04"
_MANIFEST: Final = "manifest.xml"
_HREFS: Final = ("href", "{http://www.w3.org/1999/xlink}href")
#: Types of items that may be the article, the best first. An item of another type is not one.
_TYPES: Final = ("article", "article-metadata", "manuscript", "metadata")
#: Maximum size of a zip archive's directory, in bytes; about 50,000 members.
_MAX_DIRECTORY: Final = 4 * 2**20
#: The end of a zip archive's directory: signature, 6 bytes, number of members, size and place of the directory.
_END: Final = struct.Struct("<4s6xHLL")
_MAX_COMMENT: Final = 1 << 16
_READABLE: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 1
_BROKEN: Final = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, KeyError, EOFError, OSError, zlib.error, lzma.LZMAError,
    struct.error, IndexError, OverflowError,
)  # fmt: skip


class Meca(Format):
    """Packages in which bioRxiv and medRxiv give their articles, and submission systems transfer manuscripts."""

    name: ClassVar[str] = "meca"
    about: ClassVar[str] = "MECA packages (.meca, .zip), as bioRxiv, medRxiv and submission systems give them"
    endings: ClassVar[tuple[str, ...]] = (".meca", ".zip")

    def recognises(self, content: Content) -> bool:
        """Return whether the content is a zip archive with a manifest."""
        if not content.data.startswith(_ZIP):
            return False
        try:
            return _manifest_of(_opened(content)) is not None
        except (NotAPaper, TooLarge):
            return False

    def parse(self, content: Content, options: Options) -> tuple[Parsed, ...]:
        """Return the article that the manifest names."""
        article = Content(_article(content, options.limits), content.source)
        return Jats().parse(article, options)


def _article(content: Content, limits: Limits) -> bytes:
    """Return the first member that the manifest names as article and that is one. Raises NotAPaper and TooLarge."""
    archive = _opened(content)
    manifest = _manifest_of(archive)
    if manifest is None:
        raise NotAPaper(f"{content.name}: not a MECA package: no {_MANIFEST}")
    folder = manifest.filename[: -len(_MANIFEST)]
    data = _member(archive, manifest, content.name, limits)
    remaining = replace(limits, size=limits.size - len(data))
    root, _ = read_tree(data, f"{content.name}: {manifest.filename}", limits)
    members = {info.filename: info for info in archive.infolist()}
    named = list(dict.fromkeys(_named(root)))
    for name in named:
        info = members.get(folder + name)
        if info is not None:
            data = _member(archive, info, content.name, remaining)
            if (found := Content(data).root) is not None and found[0] == "article":
                return data
            remaining = replace(remaining, size=remaining.size - len(data))
    reason = f"names no article in XML: {', '.join(named[:3])[:200]}" if named else "names no article in XML"
    raise NotAPaper(f"{content.name}: {manifest.filename} {reason}")


def _named(manifest: etree._Element) -> Iterator[str]:
    """Yield the paths of the manifest's XML files that may be the article, the best first."""
    found: list[tuple[int, str]] = []
    for item in manifest.iter("{*}item"):
        kind = (item.get("item-type") or item.get("type") or "").strip().lower()
        if kind not in _TYPES:
            continue
        for instance in item.iter("{*}instance"):
            path = _path(next(filter(None, map(instance.get, _HREFS)), ""))
            media = (instance.get("media-type") or instance.get("mime-type") or "").lower()
            if path and (media.partition(";")[0].endswith("xml") or path.lower().endswith((".xml", ".nxml"))):
                found.append((_TYPES.index(kind), path))
    return (path for _, path in sorted(found, key=lambda each: each[0]))


def _path(href: str) -> str:
    """Return the path of a member from an address in the manifest; "" for one that leaves the archive."""
    path = unquote(href.strip()).removeprefix("./")
    parts = path.split("/")
    return "" if path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0] else path


def _opened(content: Content) -> zipfile.ZipFile:
    """Open the archive, after a look at the size of its directory, whose members all become objects."""
    data = content.data
    at = data.rfind(b"PK\x05\x06", max(0, len(data) - _END.size - _MAX_COMMENT - 8))
    if at < 0 or at + _END.size > len(data):
        raise NotAPaper(f"{content.name}: a zip archive without its end")
    size = _END.unpack_from(data, at)[2]
    if size > _MAX_DIRECTORY:
        raise TooLarge(f"{content.name}: the directory of the zip archive has {size} bytes, the limit is {_MAX_DIRECTORY}")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise NotAPaper(f"{content.name}: not a zip archive: {error}") from None


def _manifest_of(archive: zipfile.ZipFile) -> zipfile.ZipInfo | None:
    """Return the manifest at the top of the archive, or in its only folder at the top."""
    found = [info for info in archive.infolist() if info.filename.rpartition("/")[2].lower() == _MANIFEST]
    found = [info for info in found if info.filename.count("/") <= 1 and ".." not in info.filename and info.filename[0] != "/"]
    return min(found, key=lambda info: (info.filename.count("/"), info.filename), default=None)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, limits: Limits) -> bytes:
    """Return an unpacked member. Raises TooLarge beyond ``limits.size``, and NotAPaper."""
    if info.compress_type not in _READABLE or info.flag_bits & _ENCRYPTED:
        raise NotAPaper(f"{name}: {info.filename} is encrypted, or compressed in an unusual way")
    try:
        with archive.open(info) as file:
            data = file.read(limits.size + 1) if limits.size >= 0 else b""
    except _BROKEN as error:
        raise NotAPaper(f"{name}: {info.filename} cannot be unpacked: {error}") from None
    if len(data) > limits.size:
        raise TooLarge(f"{name}: unpacks to more than {limits.size} bytes")
    return data
