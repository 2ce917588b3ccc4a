"""The apiserver as this run needs it: JSON over HTTPS with a token, nothing but Python's own client."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.autoscaling.errors import RunFailed

_TIMEOUT_S = 10.0
_SAID = 300
MERGE = "application/merge-patch+json"


class Refused(RunFailed):
    """The apiserver answered with an error; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """One caller's view of the apiserver. Each call has a connection of its own: threads may share it."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        self.port, self._token = port, token
        self._tls = ssl.create_default_context(cafile=str(authority))

    def get(self, path: str, **query: str) -> Any:
        """The object or list at ``path``. Raises Refused, OSError."""
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """What a list holds. Raises Refused, OSError."""
        found: list[dict[str, Any]] = self.get(path, **query)["items"]
        return found

    def create(self, path: str, what: Mapping[str, Any] | bytes) -> Any:
        """A new object, or the YAML of one. Raises Refused, OSError."""
        return self._call("POST", path, what, "application/yaml" if isinstance(what, bytes) else "application/json")

    def merge(self, path: str, what: Mapping[str, Any]) -> Any:
        """Some fields of an object. Raises Refused, OSError."""
        return self._call("PATCH", path, what, MERGE)

    def delete(self, path: str) -> Any:
        """Raises Refused, OSError."""
        return self._call("DELETE", path)

    def well(self, path: str = "/readyz") -> bool:
        """Whether it answers there at all, with 200."""
        try:
            self._send("GET", path, None, "")
        except (OSError, http.client.HTTPException, Refused):
            return False
        return True

    def _call(self, method: str, path: str, what: Mapping[str, Any] | bytes | None = None, kind: str = "") -> Any:
        body = what if isinstance(what, bytes) or what is None else json.dumps(what).encode()
        return json.loads(self._send(method, path, body, kind))

    def _send(self, method: str, path: str, body: bytes | None, kind: str) -> bytes:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=_TIMEOUT_S, context=self._tls)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        try:
            connection.request(method, path, body, headers | ({"Content-Type": kind} if kind else {}))
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused(answer.status, f"{method} {path}: {answer.status} {_reason(said)}")
        return said


def _reason(said: bytes) -> str:
    try:
        return str(json.loads(said)["message"])[:_SAID]
    except (ValueError, KeyError, TypeError):
        return said.decode("utf-8", "replace")[:_SAID]
