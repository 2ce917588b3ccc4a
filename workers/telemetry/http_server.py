"""HTTP server of a worker: /metrics for Prometheus, /health/live and /health/ready for Kubernetes."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import orjson
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from workers.errors import BadSettings

log = logging.getLogger(__name__)

#: Maximum length of the request line and of each header, in bytes.
_LINE: Final = 8192

#: Returns whether the worker is healthy, and facts for the response.
Probe = Callable[[], tuple[bool, dict[str, Any]]]


class HealthServer:
    """A server in one thread. ``live`` fails when the process should be restarted, ``ready`` until the worker handles records.

    A client has ``deadline_s`` in total to send its request and receive the response, however steadily its bytes arrive. Above
    ``max_connections`` the server drops the oldest connection, so that idle clients cannot block a new one. Each connection
    serves one request. Raises BadSettings if the server cannot listen on the address.
    """

    def __init__(
        self, host: str, port: int, *, live: Probe, ready: Probe, deadline_s: float = 10.0, max_connections: int = 64
    ) -> None:
        self._probes = {"/health/live": live, "/health/ready": ready}
        self._deadline_s, self._max_connections = deadline_s, max_connections
        #: The tasks of open connections, the oldest first.
        self._open: dict[asyncio.Task[Any], None] = {}
        self._loop = asyncio.new_event_loop()
        try:
            self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, host, port, limit=_LINE))
        except (OSError, OverflowError) as error:
            self._loop.close()
            raise BadSettings(
                f"cannot listen on REFLINK_HTTP_HOST={host} and REFLINK_HTTP_PORT={port}: {error}. Another process may use "
                "the port: choose another port, or 0 for a free one"
            ) from None
        self._thread = threading.Thread(target=self._loop.run_forever, name="health", daemon=True)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._server.sockets[0].getsockname()[1])

    def start(self) -> None:
        """Start to serve."""
        self._thread.start()
        log.info("listening", extra={"host": self._server.sockets[0].getsockname()[0], "port": self.port})

    def stop(self) -> None:
        """Stop serving and drop the open connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        await asyncio.sleep(0)  # connections accepted just now enter ``_open``
        closing = list(self._open)
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing)
        await asyncio.sleep(0)  # and transports close their sockets

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = None
        if len(self._open) > self._max_connections:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.cancel()
        try:
            # A cancelled connection ends like any other.
            with suppress(asyncio.CancelledError, TimeoutError, OSError):
                async with asyncio.timeout(self._deadline_s):
                    writer.write(self._answer(await _request_line(reader)))
                    writer.close()
                    await writer.wait_closed()
        finally:
            self._open.pop(task, None)
            writer.transport.abort()

    def _answer(self, request: list[bytes]) -> bytes:
        path = request[1].partition(b"?")[0].decode("ascii", "replace") if len(request) > 1 else ""
        status, content_type, body = HTTPStatus.OK, "application/json", b""
        if request[:1] != [b"GET"]:
            status, content_type = HTTPStatus.METHOD_NOT_ALLOWED, "text/plain"
        elif path == "/metrics":
            content_type, body = CONTENT_TYPE_LATEST, generate_latest()
        elif probe := self._probes.get(path):
            well, facts = probe()
            status, body = HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, orjson.dumps({"ok": well, **facts})
        else:
            status, content_type, body = HTTPStatus.NOT_FOUND, "text/plain", b"try /metrics, /health/live or /health/ready\n"
        head = (
            f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + body


async def _request_line(reader: asyncio.StreamReader) -> list[bytes]:
    """Return the words of the request line after reading all headers; an empty list if a line is too long."""
    try:
        line = await reader.readline()
        while (await reader.readline()).strip():
            pass
    except ValueError:
        return []
    return line.split()
