"""The parser's stage: turn a paper of any format into references and a manifest, which contains the paper itself as a work."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import zstandard

from reflink.bibliography.citation import DESCRIBING
from reflink.contexts.engine import contexts_of
from reflink.contexts.entities import CitationContext
from reflink.entities import Ids, Paper
from reflink.errors import BadRecord, TooLarge
from reflink.formats import Content, Format, Options, Parsed, format_named, format_of, parse
from reflink.formats.registry import NAMES
from reflink.limits import Limits
from reflink.workids import work_id
from schemas import SCHEMA_VERSION, ContextsEvent, ManifestEvent, PaperPointer, ReferenceEvent
from schemas.papers import CONTENT_HEADER, ENCODING_HEADER, FORMAT_HEADER, VERSION_HEADER
from workers.config.settings import ParserSettings
from workers.dead_letter import attempts
from workers.papers.safe_open import read_beneath
from workers.records import Message, Received
from workers.stage import NoView, Output, Stage

#: The smallest paper with a reference that is long enough for the recogniser.
_SMALLEST: Final = b"<article><front/><back><ref-list><ref><citation>A. 1</citation></ref></ref-list></back></article>"

#: Maximum size of a record of ``contexts``, below the limit of its topic.
_MAX_MENTIONS_BYTES: Final = 1_900_000

#: Maximum number of zstd frames in a value. Writers make one frame, or one per thread.
_MAX_FRAMES: Final = 1000


@dataclass(frozen=True, slots=True)
class PaperVersion:
    """One version of a paper. ``paper`` is None if it is withdrawn; ``live`` is False for a replayed dead letter.

    ``arrived`` is the record's timestamp in milliseconds since 1970. ``format_name`` is empty for a withdrawal. ``contexts``:
    of each reference by its id; None if they are not published.
    """

    citing: str
    version: int
    arrived: int
    paper: Paper | None
    live: bool = True
    format_name: str = ""
    contexts: Mapping[str, tuple[CitationContext, ...]] | None = None


#: The papers of one record: one in most formats.
Papers = tuple[PaperVersion, ...]


class ParserStage(Stage[Papers, NoView]):
    """Stage of the parser. It parses in ``decode``, so that an invalid paper is one invalid record and its batch continues."""

    name = "parser"
    inputs = ("papers",)
    outputs = ("references", "outcomes", "contexts")

    def __init__(self, settings: ParserSettings) -> None:
        self.settings = settings
        limits = Limits(settings.max_paper_bytes, settings.max_depth, settings.max_references)
        self.options = Options(limits, infer=settings.infer_fields, text=settings.contexts)

    def warm(self) -> None:
        """Load the recogniser's weights and the kernels, so that no batch waits for them. Raises ModelNotFound."""
        parse(Content(_SMALLEST), options=self.options)

    def decode(self, record: Received) -> Papers:
        """Parse the papers of a record. Raises BadRecord, NotAPaper, TooLarge or PackageMissing."""
        key = (record.key or b"").decode("utf-8", "replace")
        version, live = _version(record), attempts(record) == 0
        if record.value is None:
            if ":" not in key:
                raise BadRecord(
                    f"the key of a withdrawal must be the paper's work id (doi:…, pmid:…, pmcid:…, arxiv:…), not {key!r}"
                )
            return (PaperVersion(work_id(Ids(), key), version, record.timestamp, None, live),)
        content = Content(self._content(record), key or record.address)
        found = _stated_format(record) or format_of(content)
        return tuple(
            PaperVersion(each.paper.id, version, record.timestamp, each.paper, live, found.name, self._contexts(each))
            for each in found.parse(content, self.options)
        )

    def _contexts(self, parsed: Parsed) -> Mapping[str, tuple[CitationContext, ...]] | None:
        return contexts_of(parsed.paper, parsed.paragraphs) if self.settings.contexts else None

    def view(self, batch: Sequence[Papers]) -> NoView:
        """Return an empty view: parsing needs only the batch."""
        return NoView()

    def handle(self, batch: Sequence[Papers], view: NoView) -> Output:
        """Return, for each paper, a manifest and one record per reference."""
        output = Output()
        for paper in chain.from_iterable(batch):
            output.messages += parsed(paper, offered=self.settings.offer_papers)
            if paper.paper is not None:
                output.observed.papers[paper.format_name] += 1
                output.observed.parsed.update(origins(paper.paper))
        return output

    def _content(self, record: Received) -> bytes:
        data = record.value or b""
        match record.header(CONTENT_HEADER) or "paper":
            case "paper" | "xml":  # former name of "paper"
                pass
            case "pointer":
                data = fetch(PaperPointer.from_json(data), self.settings.pointer_root, self.settings.max_paper_bytes)
            case other:
                raise BadRecord(f"header {CONTENT_HEADER}: {other!r} is neither paper nor pointer")
        return decompress(data, record.header(ENCODING_HEADER) or "identity", self.settings.max_paper_bytes)


def _version(record: Received) -> int:
    header = record.header(VERSION_HEADER)
    if header is None:
        return record.timestamp
    if not header.isascii() or not header.isdigit() or len(header) > 18:
        raise BadRecord(f"header {VERSION_HEADER}: {header!r} is not a decimal integer")
    return int(header)


def _stated_format(record: Received) -> Format | None:
    name = record.header(FORMAT_HEADER)
    if name is not None and name not in NAMES:
        raise BadRecord(f"header {FORMAT_HEADER}: {name!r} is not one of {', '.join(NAMES)}")
    return None if name is None else format_named(name)


def parsed(version: PaperVersion, *, offered: bool) -> list[Message]:
    """Return the messages of a paper: the manifest, then its references, so that the ledger learns of the version first.

    The contexts of the references come last. The manifest of a withdrawn paper has no references. ``offered``: whether the
    paper becomes a work of the catalog. The ledger enters the work, because only the ledger knows the newest version.
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
        *(_mentions(version, reference, contexts) for reference, contexts in (version.contexts or {}).items()),
    ]


def _mentions(version: PaperVersion, reference: str, contexts: tuple[CitationContext, ...]) -> Message:
    """Return the message about the mentions of a reference: the first half of them as long as it is too large for its topic."""
    while True:
        event = ContextsEvent(
            schema_version=SCHEMA_VERSION,
            citing=version.citing,
            paper_version=version.version,
            arrived=version.arrived,
            live=version.live,
            reference=reference,
            contexts=contexts,
        )
        message = Message("contexts", reference.encode(), event.to_json(), partition_key=version.citing.encode())
        if message.size() <= _MAX_MENTIONS_BYTES or not contexts:
            return message
        contexts = contexts[: len(contexts) // 2]


def origins(paper: Paper) -> Counter[str]:
    """Return the number of references by the origin of their fields (``metrics.PARSED``)."""
    found: Counter[str] = Counter(unread=paper.unread)
    for reference in paper.references:
        tagged = any(getattr(reference, field) for field in DESCRIBING)
        found["recognised" if reference.inferred else "tagged" if tagged else "unrecognised"] += 1
    found["unrecognised"] -= paper.unread
    return found


def _gunzip(data: bytes, limit: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as reader:
        return reader.read(limit + 1)


def _unzstd(data: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
        read: bytes = reader.read(limit + 1)
    # The reader accepts a truncated value as a shorter one; only reading frame by frame detects the truncation.
    rest, frames = data if len(read) <= limit else b"", 0
    while rest:
        # Each frame copies the rest of the data, so thousands of empty frames would take minutes.
        if (frames := frames + 1) > _MAX_FRAMES:
            raise EOFError(f"it has more than {_MAX_FRAMES} frames")
        frame = zstandard.ZstdDecompressor().decompressobj()
        frame.decompress(rest)
        if not frame.eof:
            raise EOFError("it ends before its last frame does")
        rest = frame.unused_data
    return read


_READERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {"gzip": _gunzip, "zstd": _unzstd}


def decompress(data: bytes, encoding: str, limit: int) -> bytes:
    """Return the paper's bytes, of which at most ``limit`` + 1 are decompressed. Raises BadRecord or TooLarge."""
    if encoding != "identity":
        if encoding not in _READERS:
            raise BadRecord(f"header {ENCODING_HEADER}: {encoding!r} is not one of identity, {', '.join(_READERS)}")
        try:
            data = _READERS[encoding](data, limit)
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            raise BadRecord(f"header {ENCODING_HEADER} is {encoding}, but the value is not: {error}") from None
    if len(data) > limit:
        raise TooLarge(f"the paper has more than {limit} bytes: raise REFLINK_MAX_PAPER_BYTES if it is valid")
    return data


def fetch(pointer: PaperPointer, root: Path | None, limit: int) -> bytes:
    """Return the file that a pointer names.

    Raises BadRecord if it is not under ``root`` or differs from the pointer's size or SHA-256, and TooLarge above ``limit``.
    """
    if root is None:
        raise BadRecord("the value is a pointer, but REFLINK_POINTER_ROOT is not set")
    if pointer.size > limit:
        raise TooLarge(f"pointer {pointer.path!r}: more than {limit} bytes: raise REFLINK_MAX_PAPER_BYTES if it is valid")
    try:
        root = root.resolve()
        path = (root / pointer.path).resolve()
        if not path.is_relative_to(root):
            raise BadRecord(f"pointer {pointer.path!r} leaves the allowed root")
        data = read_beneath(root, path.relative_to(root), pointer.size)
    except OSError as error:
        raise BadRecord(f"pointer {pointer.path!r}: {error.strerror}") from None
    except (ValueError, RuntimeError) as error:  # a null character, or circular links
        raise BadRecord(f"pointer {pointer.path!r}: {error}") from None
    if data is None or hashlib.sha256(data).hexdigest() != pointer.sha256:
        raise BadRecord(
            f"pointer {pointer.path!r}: no file with this size and SHA-256: it was changed, truncated or is missing"
        )
    return data
