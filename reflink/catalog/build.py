"""A catalog from a file of works, resumable: what a killed build has done lies in ``OUT.partial`` for the next."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reflink.catalog import snapshot
from reflink.catalog.catalog import Catalog
from reflink.catalog.encoding import CachedEncoder, VectorCache, encode_chunks
from reflink.catalog.mapped import MappedWorks, WorksWriter
from reflink.catalog.reading import read_works
from reflink.catalog.snapshot import Manifest
from reflink.catalog.works import Works
from reflink.encoders import NamedEncoder
from reflink.errors import BadRecord, SnapshotError
from reflink.text import SEP, Mode, work_text

#: Texts given to the trigram index at a time.
_BLOCK: Final = 65536

#: Told the step, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Built:
    """What a build did: its snapshot, the lines read, those that were bad, and those whose id came again later."""

    manifest: Manifest
    lines: int
    bad: int
    repeated: int


def build(
    source: Path,
    out: Path,
    *,
    encoder: NamedEncoder | None,
    mode: Mode = "TVL",
    lexical_mode: Mode | None = "Raw",
    cache: Path | None = None,
    keep_previous: bool = True,
    on_bad: Callable[[BadRecord], object] = lambda _: None,
    progress: Progress = lambda *_: None,
) -> Built:
    """Reads works, encodes them (not without an ``encoder``), indexes their trigrams, and saves the snapshot ``out``.

    ``cache`` is a snapshot whose vectors are reused where model, precision, mode, separator and text agree. Of lines with
    one id the last counts; a bad line is told to ``on_bad`` and left out. A snapshot that is replaced is kept as
    ``OUT.previous``, unless ``keep_previous`` is False. Raises SnapshotError (``out`` is no catalog, another
    build is at work there, ``cache`` is of another model), BadRecord (``source`` cannot be decompressed) and OSError.
    """
    snapshot.refuse_foreign(out)
    partial = out.absolute().with_name(f"{out.absolute().name}.partial")
    with _alone(partial):
        if encoder is not None and cache is not None:
            encoder = CachedEncoder(encoder, VectorCache(cache, encoder, mode))
        lines, bad = _read(source, partial / "works", on_bad, progress)
        works = MappedWorks.open(partial / "works")
        catalog = Catalog.empty(
            dim=None if encoder is None else encoder.dim,
            model=None if encoder is None else encoder.name,
            precision=None if encoder is None else encoder.precision,
            mode=mode,
            separator=SEP if encoder is None else encoder.separator,
            lexical_mode=lexical_mode,
        )
        if catalog.vectors is not None and encoder is not None:
            folder, total = partial / "vectors", len(works)

            def encoded(done: int) -> None:
                progress("encoding", done, total)

            for ids, vectors in encode_chunks(works, encoder, mode, folder, progress=encoded):
                catalog.vectors.add(ids, vectors)
        if catalog.trigrams is not None and lexical_mode is not None:
            for start in range(0, len(works), _BLOCK):
                block = [works.work(row) for row in range(start, min(start + _BLOCK, len(works)))]
                texts = [work_text(work, lexical_mode, lexical=True) for work in block]
                catalog.trigrams.add([work.id for work in block], texts)
                progress("indexing", start + len(block), len(works))
        progress("saving", 0, 1)
        manifest = Catalog(Works(works), catalog.vectors, catalog.trigrams, catalog.manifest).save(
            out, keep_previous=keep_previous
        )
        progress("saving", 1, 1)
    shutil.rmtree(partial)
    return Built(manifest, lines, bad, repeated=lines - bad - manifest.works)


def _read(source: Path, folder: Path, on_bad: Callable[[BadRecord], object], progress: Progress) -> tuple[int, int]:
    size, lines, bad = source.stat().st_size, 0, 0
    with WorksWriter(folder) as writer:
        for work in read_works(source, progress=lambda position: progress("reading", position, size)):
            lines += 1
            if isinstance(work, BadRecord):
                bad += 1
                on_bad(work)
            else:
                writer.append(work)
    return lines, bad


@contextmanager
def _alone(partial: Path) -> Iterator[None]:
    """Holds ``partial`` for this build; the lock ends with the process, however it ends."""
    partial.mkdir(parents=True, exist_ok=True)
    with (partial / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnapshotError(f"{partial}: another build is at work there") from None
        yield
