"""The garbage collector ignores permanent objects, and free memory is returned to the system at intervals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers.runtime.process_memory import Returning

_SETTLED = """
import gc
from workers.runtime.process_memory import settle
kept = [[] for _ in range(1000)]
settle()
assert gc.get_freeze_count() > 1000
assert not any(each is kept for each in gc.get_objects())
round_about = []; round_about.append(round_about); del round_about
assert gc.collect() >= 1, "what comes later is still collected"
"""


def test_what_is_loaded_is_never_looked_at_again() -> None:
    subprocess.run([sys.executable, "-c", _SETTLED], check=True)


@pytest.mark.parametrize(("now", "returned"), [(109.0, False), (110.0, True)])
def test_memory_is_returned_every_ten_seconds(now: float, returned: bool) -> None:
    returning = Returning(100.0)
    calls: list[int] = []
    returning._trim = calls.append
    assert returning.at(now) is returned
    assert returning.at(now) is False
    assert calls == [0] * returned


_ARENAS = """
import ctypes, re, sys, threading
from pathlib import Path
from workers.runtime.process_memory import limit_arenas
if sys.argv[1] == "limited":
    limit_arenas()
libc, done = ctypes.CDLL(None), threading.Event()
libc.fopen.restype = ctypes.c_void_p
def hold():
    held = [bytes(1000) for _ in range(1000)]
    done.wait()
threads = [threading.Thread(target=hold) for _ in range(6)]
for each in threads:
    each.start()
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
done.set()
print(len(re.findall("<heap nr", Path(sys.argv[2]).read_text())))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
@pytest.mark.parametrize(
    ("given", "environment", "more"),
    [("limited", {}, False), ("as it is", {}, True), ("limited", {"MALLOC_ARENA_MAX": "8"}, True)],
)
def test_threads_share_two_arenas_unless_the_environment_says_otherwise(
    given: str, environment: dict[str, str], more: bool, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", _ARENAS, given, str(tmp_path / "info.xml")]
    done = subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True)
    assert (int(done.stdout) > 2) is more, done.stdout


_RECENT = """
import gc
from workers.runtime.process_memory import Returning, limit_arenas
limit_arenas()
returning = Returning(0.0)
gc.disable()
for _ in range(1000):
    round_about = []; round_about.append(round_about); del round_about
returning.at(10.0)
assert not any(type(each) is list and len(each) == 1 and each[0] is each for each in gc.get_objects())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_recent_garbage_is_collected_first() -> None:
    subprocess.run([sys.executable, "-c", _RECENT], check=True)


def test_an_allocator_that_cannot_is_left_alone() -> None:
    returning = Returning(0.0)
    returning._trim = None
    assert returning.at(1000.0) is False
