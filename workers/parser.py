"""Parser: a paper's XML to its references and its manifest, which holds the paper itself as a work of the catalog."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import zstandard

from reflink import jats
from reflink.entities import Ids, Paper
from reflink.errors import BadRecord, TooLarge
from reflink.recognition.tagger import shipped
from reflink.workids import work_id
from schemas import SCHEMA_VERSION, ManifestEvent, PaperPointer, ReferenceEvent
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER, VERSION_HEADER
from workers.pointers import read_beneath
from workers.poison import attempts
from workers.settings import ParserSettings
from workers.stage import Message, NoView, Output, Received, Stage

#: The least paper with a reference.
_SMALLEST: Final = b"<article><front/><back><ref-list><ref><mixed-citation>1</mixed-citation></ref></ref-list></back></article>"

#: Writers make one frame, or one for each of their threads.
_MOST_FRAMES: Final = 1000


@dataclass(frozen=True, slots=True)
class PaperVersion:
    """One version of a paper; ``paper`` None: it is withdrawn. ``live`` False: it was a dead letter and is replayed."""

    citing: str
    version: int
    arrived: int
    paper: Paper | None
    live: bool = True


class ParserStage(Stage[PaperVersion, NoView]):
    """Parsing is done while decoding, so that a bad paper is one bad record and its batch goes on."""

    name = "parser"
    inputs = ("papers",)
    outputs = ("references", "outcomes")

    def __init__(self, settings: ParserSettings) -> None:
        self.settings = settings
        self.limits = jats.Limits(settings.max_paper_bytes, settings.max_depth, settings.max_references)

    def warm(self) -> None:
        """Loads the parser's kernels, or compiles them: no batch shall wait for that. Raises ModelNotFound."""
        jats.parse(_SMALLEST)
        if self.settings.infer_fields:
            shipped()  # weights that are damaged are no paper's fault: fail now

    def decode(self, record: Received) -> PaperVersion:
        """Raises BadRecord, NotAPaper or TooLarge."""
        key = (record.key or b"").decode("utf-8", "replace")
        version, live = _version(record), attempts(record) == 0
        if record.value is None:
            if ":" not in key:
                raise BadRecord(
                    f"a withdrawal's key must be the paper's work id (doi:…, pmid:…, pmcid:…, arxiv:…) and is {key!r}"
                )
            return PaperVersion(work_id(Ids(), key), version, record.timestamp, None, live)
        data = self._content(record)
        paper = jats.parse(data, source=key or record.place, limits=self.limits, infer=self.settings.infer_fields)
        return PaperVersion(paper.id, version, record.timestamp, paper, live)

    def view(self, batch: Sequence[PaperVersion]) -> NoView:
        """Nothing but the batch."""
        return NoView()

    def handle(self, batch: Sequence[PaperVersion], view: NoView) -> Output:
        """A manifest and a record per reference."""
        output = Output()
        for paper in batch:
            output.messages += parsed(paper, offered=self.settings.offer_papers)
        return output

    def _content(self, record: Received) -> bytes:
        data = record.value or b""
        match record.header(CONTENT_HEADER) or "xml":
            case "xml":
                pass
            case "pointer":
                data = fetch(PaperPointer.from_json(data), self.settings.pointer_root, self.settings.max_paper_bytes)
            case other:
                raise BadRecord(f"header {CONTENT_HEADER}: {other!r} is none of xml, pointer")
        return decompress(data, record.header(ENCODING_HEADER) or "identity", self.settings.max_paper_bytes)


def _version(record: Received) -> int:
    header = record.header(VERSION_HEADER)
    if header is None:
        return record.timestamp
    if not header.isascii() or not header.isdigit() or len(header) > 18:
        raise BadRecord(f"header {VERSION_HEADER}: {header!r} is not a decimal integer")
    return int(header)


def parsed(version: PaperVersion, *, offered: bool) -> list[Message]:
    """The manifest first: the ledger knows the version before it hears of its references.

    A withdrawn paper's has no references. ``offered``: whether the paper is a target too. Which version is the newest only the
    ledger knows, so it enters the work in the catalog.
    """
    key, paper = version.citing.encode(), version.paper
    references = () if paper is None else paper.references
    manifest = ManifestEvent(
        schema_version=SCHEMA_VERSION,
        kind="manifest",
        citing=version.citing,
        paper_version=version.version,
        arrived=version.arrived,
        live=version.live,
        references=tuple(reference.id for reference in references),
        withdrawn=paper is None,
        offered=offered,
        work=paper.work() if offered and paper is not None else None,
    )
    events = (
        ReferenceEvent(
            schema_version=SCHEMA_VERSION,
            citing=version.citing,
            paper_version=version.version,
            arrived=version.arrived,
            live=version.live,
            reference=reference,
        )
        for reference in references
    )
    return [
        Message("outcomes", key, manifest.to_json()),
        *(Message("references", key, event.to_json()) for event in events),
    ]


def _gunzip(data: bytes, limit: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as reader:
        return reader.read(limit + 1)


def _unzstd(data: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
        read: bytes = reader.read(limit + 1)
    # The reader takes a value that was cut off for a shorter one; only frame by frame can it be told.
    rest, frames = data if len(read) <= limit else b"", 0
    while rest:
        # What follows a frame is copied for each of them: thousands of empty ones would take minutes.
        if (frames := frames + 1) > _MOST_FRAMES:
            raise EOFError(f"it has more than {_MOST_FRAMES} frames")
        frame = zstandard.ZstdDecompressor().decompressobj()
        frame.decompress(rest)
        if not frame.eof:
            raise EOFError("it ends before its last frame does")
        rest = frame.unused_data
    return read


_READERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {"gzip": _gunzip, "zstd": _unzstd}


def decompress(data: bytes, encoding: str, limit: int) -> bytes:
    """The paper's bytes. Reads no further than ``limit``, whatever the compressed data claim. Raises BadRecord or TooLarge."""
    if encoding != "identity":
        if encoding not in _READERS:
            raise BadRecord(f"header {ENCODING_HEADER}: {encoding!r} is none of identity, {', '.join(_READERS)}")
        try:
            data = _READERS[encoding](data, limit)
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            raise BadRecord(f"header {ENCODING_HEADER} says {encoding} and the value is not: {error}") from None
    if len(data) > limit:
        raise TooLarge(f"the paper has more than {limit} bytes: raise REFLINK_MAX_PAPER_BYTES if it is a real one")
    return data


def fetch(pointer: PaperPointer, root: Path | None, limit: int) -> bytes:
    """The file a pointer names, when it lies under the allowed root and is what it says. Raises BadRecord or TooLarge."""
    if root is None:
        raise BadRecord("the value is a pointer and this worker takes none: set REFLINK_POINTER_ROOT")
    if pointer.size > limit:
        raise TooLarge(f"pointer {pointer.path!r}: more than {limit} bytes: raise REFLINK_MAX_PAPER_BYTES if it is a real one")
    try:
        root = root.resolve()
        path = (root / pointer.path).resolve()
        if not path.is_relative_to(root):
            raise BadRecord(f"pointer {pointer.path!r} leaves the allowed root")
        data = read_beneath(root, path.relative_to(root), pointer.size)
    except OSError as error:
        raise BadRecord(f"pointer {pointer.path!r}: {error.strerror}") from None
    except (ValueError, RuntimeError) as error:  # a null character, or links in a circle
        raise BadRecord(f"pointer {pointer.path!r}: {error}") from None
    if data is None or hashlib.sha256(data).hexdigest() != pointer.sha256:
        raise BadRecord(f"pointer {pointer.path!r}: no file of its size and sha256: it was changed, cut off or is not there")
    return data
