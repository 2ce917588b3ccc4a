"""Build a catalog from a file of works. A build resumes a killed one from its results in ``OUT.partial``."""

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
from reflink.catalog.encoding import ReusingEncoder, encode_chunks
from reflink.catalog.mapped import MappedWorks
from reflink.catalog.reading import read_works
from reflink.catalog.snapshot import Manifest
from reflink.catalog.works import Works
from reflink.catalog.writing import WorksWriter
from reflink.encoders import NamedEncoder
from reflink.errors import BadRecord, SnapshotError
from reflink.journals.building import JournalsBuilder
from reflink.journals.lists import read_list
from reflink.text import SEP, Mode

#: Number of texts per call to the trigram index.
_BLOCK: Final = 65536

#: Callback with the step, the amount done, and the total.
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Built:
    """Result of a build: manifest, number of lines read, of bad lines, and of lines whose id occurs again later."""

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
    journals: Path | None = None,
    keep_previous: bool = True,
    on_bad: Callable[[BadRecord], object] = lambda _: None,
    progress: Progress = lambda *_: None,
) -> Built:
    """Read works, encode them if there is an ``encoder``, index their trigrams, and save the snapshot ``out``.

    ``cache``: a snapshot of the same model, precision, mode and separator, whose vectors are reused for equal texts.
    The snapshot has a table of journals, learnt from the works; ``journals``: a list of journals (reflink.journals.lists) that
    they complete. Of lines with the same id the last counts. A bad line is passed to ``on_bad`` and left out. A replaced
    snapshot is kept as ``OUT.previous``, unless ``keep_previous`` is False. Raises SnapshotError (``out`` is not a catalog,
    another build runs there, ``cache`` is of other vectors), BadRecord (``source`` cannot be decompressed, ``journals`` cannot
    be read) and OSError.
    """
    snapshot.refuse_foreign(out)
    partial = out.absolute().with_name(f"{out.absolute().name}.partial")
    with _alone(partial):
        if encoder is not None and cache is not None:
            encoder = ReusingEncoder(encoder, cache, mode)
        names = JournalsBuilder()
        if journals is not None:
            names.add_list(read_list(journals))
        lines, bad = _read(source, partial / "works", names, on_bad, progress)
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
                texts = {text_id: text for work in block for text_id, text in catalog.lexical_texts(work).items()}
                catalog.trigrams.add(list(texts), list(texts.values()))
                progress("indexing", start + len(block), len(works))
        progress("saving", 0, 1)
        complete = Catalog(Works(works), catalog.vectors, catalog.trigrams, catalog.manifest, names.build())
        manifest = complete.save(out, keep_previous=keep_previous)
        progress("saving", 1, 1)
    shutil.rmtree(partial)
    return Built(manifest, lines, bad, repeated=lines - bad - manifest.works)


def _read(
    source: Path, folder: Path, names: JournalsBuilder, on_bad: Callable[[BadRecord], object], progress: Progress
) -> tuple[int, int]:
    size, lines, bad = source.stat().st_size, 0, 0
    with WorksWriter(folder) as writer:
        for work in read_works(source, progress=lambda position: progress("reading", position, size)):
            lines += 1
            if isinstance(work, BadRecord):
                bad += 1
                on_bad(work)
            else:
                writer.append(work)
                names.add(work)
    return lines, bad


@contextmanager
def _alone(partial: Path) -> Iterator[None]:
    """Lock ``partial`` for this build. The lock ends with the process, even after a kill. Raises SnapshotError."""
    partial.mkdir(parents=True, exist_ok=True)
    with (partial / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnapshotError(f"{partial}: another build is at work there") from None
        yield
