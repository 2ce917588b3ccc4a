"""A proxy that impairs the network between a worker and the broker: slow, cut, or a hole that accepts and drops data."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

Way = Literal["open", "slow", "cut", "hole"]
_CHUNK: Final = 65536
_DELAY_S: Final = 0.05


@dataclass
class Proxy:
    """Forwards connections from ``port`` of loopback to port ``target`` of loopback. ``way`` may change at any time.

    slow: the proxy delays each piece of at most 64 KiB by 50 ms. cut: it closes connections and refuses new ones.
    hole: it keeps connections and accepts new ones, but forwards nothing in either direction.
    """

    target: int
    port: int
    way: Way = "open"

    def __post_init__(self) -> None:
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._closed = False
        self._serve()

    def turn(self, way: Way) -> None:
        """Set the state of the network from now on."""
        before, self.way = self.way, way
        if way == "cut":
            self._refuse()
            self._hang_up()
        elif before == "cut":
            self._serve()

    def close(self) -> None:
        """Close the listener and all connections."""
        self._closed = True
        self._refuse()
        self._hang_up()

    def _refuse(self) -> None:
        with suppress(OSError):  # already closed
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _serve(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)  # with SO_REUSEADDR
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:  # the broker is down
                near.close()
                continue
            far.settimeout(None)
            for each in (near, far):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(_CHUNK):
                if self.way == "slow":
                    time.sleep(_DELAY_S)
                while self.way == "hole" and not self._closed:
                    time.sleep(0.05)
                sink.sendall(data)
        except OSError:
            pass
        finally:
            self._drop(source, sink)

    def _drop(self, *ends: socket.socket) -> None:
        with self._lock:
            self._pairs = [pair for pair in self._pairs if not set(pair) & set(ends)]
        for each in ends:
            with suppress(OSError):  # the other side has closed it first
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _hang_up(self) -> None:
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._drop(*pair)
