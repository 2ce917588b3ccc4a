"""The network between a worker and the broker, made worse: slow, cut, or a hole that takes everything and gives nothing."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Self

from workers.local.ports import free_port

Way = Literal["open", "slow", "cut", "hole"]
_CHUNK = 65536


@dataclass
class Proxy:
    """Listens on ``port`` of loopback and passes on to ``target``. ``way`` may change at any time.

    slow: every piece of at most 64 KiB waits ``delay_s`` first. cut: connections are closed and new ones refused.
    hole: connections stay, new ones are taken, and nothing passes any more, in either direction.
    """

    target: int
    port: int = field(default_factory=free_port)
    delay_s: float = 0.05
    way: Way = "open"

    def __post_init__(self) -> None:
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._closed = False
        self._serve()

    def turn(self, way: Way) -> None:
        """From now on the network is like this."""
        before, self.way = self.way, way
        if way == "cut":
            self._refuse()
            self._hang_up()
        elif before == "cut":
            self._serve()

    def close(self) -> None:
        """Ends everything."""
        self._closed = True
        self._refuse()
        self._hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse(self) -> None:
        with suppress(OSError):  # it was closed already
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _listen(self) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        return listener

    def _serve(self) -> None:
        self._listener = self._listen()
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
                    time.sleep(self.delay_s)
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
            with suppress(OSError):  # the other side was faster
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _hang_up(self) -> None:
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            self._drop(*pair)
