"""Choose free loopback ports for processes that will listen on them shortly.

If the kernel chooses a port (bind to 0), any outgoing connection may take it before the process that it is meant for has
started. So these ports lie below the kernel's range for outgoing connections, and each is returned once.
"""

from __future__ import annotations

import random
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Final

from workers.devkit.errors import LocalSetupError

#: Linux reports the range of ports for outgoing connections here.
_OUTGOING: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: The default of Linux, for when the range cannot be read.
_OUTGOING_FROM: Final = 32768
#: Well-known services use the ports below.
_LEAST: Final = 15000
_given: set[int] = set()
_lock = threading.Lock()


def free_port(preferred: int | None = None) -> int:
    """Return ``preferred`` if nothing listens there, else a free loopback port that no outgoing connection uses.

    A process gets each port at most once. Raises LocalSetupError if none is free.
    """
    if preferred is not None and _is_free(preferred):
        return preferred
    choice = range(_LEAST, max(_LEAST + 1, outgoing_from()))
    with _lock:
        # Random, so that two processes that search at the same time rarely choose the same port. Not from the seeded
        # generator: two runs with one seed must not collide either.
        for port in random.SystemRandom().sample(choice, len(choice)):
            if port not in _given and _is_free(port):
                _given.add(port)
                return port
    raise LocalSetupError(f"no free port on loopback between {choice.start} and {choice.stop - 1}")


def outgoing_from() -> int:
    """Return the lowest port that the kernel assigns to outgoing connections."""
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
