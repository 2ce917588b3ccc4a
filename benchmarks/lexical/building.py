"""Building and opening an index, each in a process of its own, so that its memory and its first moments can be seen."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import reflink.lexical
from benchmarks.lexical.corpus import Corpus
from reflink.lexical import LexicalIndex
from reflink.text import Mode

#: Texts of one addition.
ADDED: Final = 1_000_000
#: Texts that are added and searched before anything is measured, so that all is compiled.
WARM: Final = 4_000

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def apart(work: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
    """What ``work`` returns in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given, **named).result()


def build(corpus: Corpus, mode: Mode, count: int, folder: Path) -> dict[str, Any]:
    """Builds the index of the first ``count`` works and saves it. Seconds without those of reading the texts."""
    _warm(corpus, mode)
    index, seconds, processor = LexicalIndex(mode), 0.0, 0.0
    for ids, texts in corpus.texts(mode, count, ADDED):
        began, used = time.perf_counter(), time.process_time()
        index.add(ids, texts)
        seconds, processor = seconds + time.perf_counter() - began, processor + time.process_time() - used
        del ids, texts
    began, used = time.perf_counter(), time.process_time()
    index.settle()
    seconds, processor = seconds + time.perf_counter() - began, processor + time.process_time() - used
    began = time.perf_counter()
    index.save(folder)
    figures = {
        "seconds": seconds,
        "processor_seconds": processor,
        "save_seconds": time.perf_counter() - began,
        "seconds_a_million": processor / count * 1e6,
        "bytes": index.memory(),
        "code": _code(),
        "peak_gib": _status()["VmHWM"] / 2**30,
    }
    (folder / "built.json").write_text(json.dumps(figures))
    return figures


def built(corpus: Corpus, mode: Mode, count: int, *, rebuild: bool) -> tuple[Path, dict[str, Any]]:
    """The folder of that index, and the figures of its building: from before where the same code has built it already."""
    folder = corpus.folder / f"index-{mode}-{count}"
    figures = folder / "built.json"
    if not rebuild and figures.exists() and (kept := json.loads(figures.read_text())).get("code") == _code():
        return folder, {**kept, "earlier": True}
    shutil.rmtree(folder, ignore_errors=True)
    return folder, {**apart(build, corpus, mode, count, folder), "earlier": False}


def _code() -> str:
    """Of the engine's modules."""
    files = sorted(Path(reflink.lexical.__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def opened(corpus: Corpus, mode: Mode, folder: Path, count: int) -> dict[str, float]:
    """Opens a saved index and searches it: seconds, and bytes that are this process's own and that are mapped."""
    _warm(corpus, mode)
    texts = [each.text for each in corpus.queries(mode, True, count)]
    before = _status()
    began = time.perf_counter()
    index = LexicalIndex.open(folder, mode=mode)
    seconds = time.perf_counter() - began
    at_open = _status()
    began = time.perf_counter()
    index.search(texts[:1], 2)
    first = time.perf_counter() - began
    index.search(texts, 2)
    after = _status()
    return {
        "seconds": seconds,
        "first_search_seconds": first,
        "own_bytes_at_open": at_open["RssAnon"] - before["RssAnon"],
        "own_bytes": after["RssAnon"] - before["RssAnon"],
        "mapped_bytes": after["RssFile"] - before["RssFile"],
    }


def _warm(corpus: Corpus, mode: Mode) -> None:
    index = LexicalIndex(mode)
    ids, texts = next(corpus.texts(mode, min(WARM, corpus.about["made"][mode]), WARM))
    index.add(ids, texts)
    index.search(texts[:2], 2)
    index.search(texts[:2], 2, floor=0.5, seeds=[[], ids[:1]])


def _status() -> dict[str, int]:
    """Bytes of this process in memory: RssAnon are its own, RssFile those of mapped files, VmHWM was the most of both."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {name.rstrip(":"): int(value[0]) * 1024 for name, *value in lines if value[1:] == ["kB"]}
