"""Measure building and opening an index, each in its own process, so that its memory and its start are visible."""

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
from benchmarks.machine import process_memory
from reflink.lexical import LexicalIndex
from reflink.text import Mode

#: Number of texts per addition.
ADDED: Final = 1_000_000
#: Number of texts added and searched before the measurement, so that everything is compiled.
WARM: Final = 4_000

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def apart(work: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
    """Return the result of ``work`` in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given, **named).result()


def build(corpus: Corpus, mode: Mode, count: int, folder: Path) -> dict[str, Any]:
    """Build the index of the first ``count`` works and save it. The seconds exclude reading the texts."""
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
        "peak_gib": process_memory()["VmHWM"] / 2**30,
    }
    (folder / "built.json").write_text(json.dumps(figures))
    return figures


def built(corpus: Corpus, mode: Mode, count: int, *, rebuild: bool) -> tuple[Path, dict[str, Any]]:
    """Return the folder of that index, and the figures of its build: cached ones if the same code has built it before."""
    folder = corpus.folder / f"index-{mode}-{count}"
    figures = folder / "built.json"
    if not rebuild and figures.exists() and (kept := json.loads(figures.read_text())).get("code") == _code():
        return folder, {**kept, "earlier": True}
    shutil.rmtree(folder, ignore_errors=True)
    return folder, {**apart(build, corpus, mode, count, folder), "earlier": False}


def _code() -> str:
    """Return a checksum of the engine's modules."""
    files = sorted(Path(reflink.lexical.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def opened(corpus: Corpus, mode: Mode, folder: Path, count: int) -> dict[str, float]:
    """Open a saved index and search it; return seconds, and the process's anonymous and mapped bytes."""
    _warm(corpus, mode)
    texts = [each.text for each in corpus.queries(mode, True, count)]
    before = process_memory()
    began = time.perf_counter()
    index = LexicalIndex.open(folder, mode=mode)
    seconds = time.perf_counter() - began
    at_open = process_memory()
    began = time.perf_counter()
    index.search(texts[:1], 2)
    first = time.perf_counter() - began
    index.search(texts, 2)
    after = process_memory()
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
