"""Context of reported figures: a description of the machine, and medians of several runs."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path


def describe() -> str:
    """Describe processor, cores, memory and Python in one line."""
    cpu, memory = platform.processor() or platform.machine(), 0.0
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0] if names else cpu
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"


def spread(values: Sequence[float]) -> str:
    """Format the median and the range."""
    return f"{statistics.median(values):,.0f} ({min(values):,.0f}-{max(values):,.0f})"


def process_memory(process: int | str = "self") -> dict[str, int]:
    """Return a process's bytes by name: RssAnon is anonymous memory, RssFile mapped files, VmHWM the maximum of both."""
    lines = (line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return {name.rstrip(":"): int(value[0]) * 1024 for name, *value in lines if value[1:] == ["kB"]}


def disk_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder, in allocated blocks."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
