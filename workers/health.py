"""/metrics for Prometheus, /health/live and /health/ready for Kubernetes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from workers.errors import BadSettings

log = logging.getLogger(__name__)

#: Whether it is well, and what to say about it.
Probe = Callable[[], tuple[bool, dict[str, Any]]]


class HealthServer:
    """Serves in a thread of its own. ``live`` fails when the process should be restarted, ``ready`` until it does its work.

    Raises BadSettings when the address can't be listened on.
    """

    def __init__(self, host: str, port: int, *, live: Probe, ready: Probe) -> None:
        probes = {"/health/live": live, "/health/ready": ready}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                if path == "/metrics":
                    self._answer(200, CONTENT_TYPE_LATEST, generate_latest())
                elif path in probes:
                    well, facts = probes[path]()
                    self._answer(200 if well else 503, "application/json", orjson.dumps({"ok": well, **facts}))
                else:
                    self._answer(404, "text/plain", b"try /metrics, /health/live or /health/ready\n")

            def _answer(self, status: int, content_type: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Probes come every few seconds: not logged."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise BadSettings(
                f"REFLINK_HTTP_HOST={host} and REFLINK_HTTP_PORT={port} can't be listened on: {error}. Another process may use "
                "the port: choose another one, or 0 for any"
            ) from None
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begins to serve."""
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()
        log.info("listening", extra={"host": self._server.server_address[0], "port": self.port})

    def stop(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
