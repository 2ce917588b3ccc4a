"""Ports of loopback for processes that will listen in a moment.

A port that the kernel hands out by itself (bind to 0) may be taken again by any outgoing connection before the process
that it was meant for has started. So these come from below the kernel's range, and each is given once.
"""

from __future__ import annotations

import random
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Final

from workers.local.errors import LocalSetupError

#: Where Linux says which ports outgoing connections take.
_OUTGOING: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Of Linux, where it can't be read.
_OUTGOING_FROM: Final = 32768
#: Below it are the ports that well-known services like to have.
_LEAST: Final = 15000
_given: set[int] = set()
_lock = threading.Lock()


def free_port(preferred: int | None = None) -> int:
    """``preferred`` when nothing listens there, else a free port of loopback that nobody gets by chance.

    No port is given twice by one process. Raises LocalSetupError when none is free.
    """
    if preferred is not None and _is_free(preferred):
        return preferred
    choice = range(_LEAST, max(_LEAST + 1, outgoing_from()))
    with _lock:
        # Drawn, so that two processes that look at the same time rarely meet. Not from the seeded generator: two runs
        # of one seed must not meet either.
        for port in random.SystemRandom().sample(choice, len(choice)):
            if port not in _given and _is_free(port):
                _given.add(port)
                return port
    raise LocalSetupError(f"no free port on loopback between {choice.start} and {choice.stop - 1}")


def outgoing_from() -> int:
    """The least port that the kernel gives to outgoing connections."""
    try:
        return int(_OUTGOING.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _OUTGOING_FROM


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
