"""Threads whose exceptions are not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable


def start(body: Callable[[], object], failed: Callable[[BaseException], object], name: str | None = None) -> threading.Thread:
    """Run ``body`` in a daemon thread; if it raises, call ``failed`` with the exception."""

    def run() -> None:
        try:
            body()
        except BaseException as error:  # includes pytest's Skipped, raised if the real data are missing
            failed(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
