"""What figures are reported with: the machine, and medians of several runs."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path


def describe() -> str:
    """Processor, cores, memory, Python: one line."""
    cpu, memory = platform.processor() or platform.machine(), 0.0
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0] if names else cpu
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"


def spread(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):,.0f} ({min(values):,.0f}-{max(values):,.0f})"
