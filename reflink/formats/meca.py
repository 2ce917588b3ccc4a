"""MECA packages (NISO RP-30): a zip archive of a manuscript, whose manifest names the JATS article."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from dataclasses import replace
from typing import ClassVar, Final
from urllib.parse import unquote

from lxml import etree

from reflink.errors import NotAPaper, TooLarge
from reflink.formats.content import Content
from reflink.formats.format import Format, Options, Parsed
from reflink.formats.jats import Jats
from reflink.limits import Limits
from reflink.markup.tree import local, read_tree

_ZIP: Final = b"PK\x03\x04"
_MANIFEST: Final = "manifest.xml"
_HREFS: Final = ("href", "{http://www.w3.org/1999/xlink}href")
#: Types of items that may be the article, the best first. An item of another type is not one.
_TYPES: Final = ("article", "article-metadata", "manuscript", "metadata")
#: Maximum number of files that a manifest may name as article.
_MAX_NAMED: Final = 10_000
#: Maximum size of a zip archive's directory, in bytes; about 50,000 members.
_MAX_DIRECTORY: Final = 4 * 2**20
#: The end of a zip archive's directory: signature, 6 bytes, number of members, size and place of the directory.
_END: Final = struct.Struct("<4s6xHLL")
_MAX_COMMENT: Final = 1 << 16
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
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
        """Return the first article with references among those that the manifest names; else the first article."""
        archive = _opened(content)
        manifest, named, left = _manifest(archive, content.name, options.limits)
        members = {info.filename: info for info in archive.infolist()}
        first: tuple[Parsed, ...] = ()
        reason = ""
        for info in filter(None, map(members.get, named)):
            try:
                data = _member(archive, info, content.name, replace(options.limits, size=left))
                found = Jats().parse(Content(data, content.source), options)
            except NotAPaper as error:
                reason = reason or f" ({str(error).removeprefix(f'{content.name}: ')[:200]})"
            else:
                if any(each.paper.references for each in found):
                    return found
                first = first or found
            left -= info.file_size if _readable(info) else 0  # no more than that is unpacked, from a damaged member too
        if not first:
            names = f": {', '.join(named[:3])[:200]}" if named else ""
            raise NotAPaper(f"{content.name}: {manifest} names no article in XML{names}{reason}")
        return first


def _manifest(archive: zipfile.ZipFile, name: str, limits: Limits) -> tuple[str, list[str], int]:
    """Return the name of the manifest, of the members that may be the article, the best first, and the size that is left."""
    info = _manifest_of(archive)
    if info is None:
        raise NotAPaper(f"{name}: not a MECA package: no {_MANIFEST}")
    data = _member(archive, info, name, limits)
    root, _ = read_tree(data, f"{name}: {info.filename}", limits)
    folder = info.filename[: -len(_MANIFEST)]
    return info.filename, [folder + each for each in _named(root)], limits.size - len(data)


def _named(manifest: etree._Element) -> list[str]:
    """Return the paths of the manifest's XML files that may be the article, the best first."""
    found: dict[str, int] = {}
    kinds: list[str] = []
    for event, element in etree.iterwalk(manifest, events=("start", "end"), tag=("{*}item", "{*}instance")):
        if local(element) == "item":
            if event == "start":
                kinds.append((element.get("item-type") or element.get("type") or "").strip().lower())
            else:
                kinds.pop()
        elif event == "start" and kinds and kinds[-1] in _TYPES:
            path = _path(next(filter(None, map(element.get, _HREFS)), ""))
            media = (element.get("media-type") or element.get("mime-type") or "").lower()
            if path and (media.partition(";")[0].endswith("xml") or path.lower().endswith((".xml", ".nxml"))):
                rank = _TYPES.index(kinds[-1])
                found[path] = min(rank, found.get(path, rank))
                if len(found) >= _MAX_NAMED:
                    break
    return sorted(found, key=found.__getitem__)


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
    if not _readable(info):
        raise NotAPaper(f"{name}: {info.filename} is encrypted, or compressed in an unusual way")
    try:
        with archive.open(info) as file:
            data = file.read(limits.size + 1) if limits.size >= 0 else b""
    except _BROKEN as error:
        raise NotAPaper(f"{name}: {info.filename} cannot be unpacked: {error}") from None
    if len(data) > limits.size:
        raise TooLarge(f"{name}: unpacks to more than {limits.size} bytes")
    return data


def _readable(info: zipfile.ZipInfo) -> bool:
    return info.compress_type in _METHODS and not info.flag_bits & _ENCRYPTED
