"""A minimal client of the apiserver: JSON over HTTPS with a token, using only Python's own HTTP client."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.campaigns.autoscaling.errors import RunFailed

_TIMEOUT_S = 10.0
_MAX_MESSAGE = 300


class Refused(RunFailed):
    """The apiserver responded with an error; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """A client of the apiserver. Each call uses its own connection, so threads may share the client."""

    def __init__(self, port: int, authority: Path, token: str) -> None:
        self.port, self._token = port, token
        self._tls = ssl.create_default_context(cafile=str(authority))

    def get(self, path: str, **query: str) -> Any:
        """Return the object or list at ``path``. Raises Refused, OSError."""
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """Return the items of the list at ``path``. Raises Refused, OSError."""
        found: list[dict[str, Any]] = self.get(path, **query)["items"]
        return found

    def create(self, path: str, what: Mapping[str, Any] | bytes) -> Any:
        """Create an object from JSON, or from YAML as bytes. Raises Refused, OSError."""
        return self._call("POST", path, what, "application/yaml" if isinstance(what, bytes) else "application/json")

    def merge(self, path: str, what: Mapping[str, Any]) -> Any:
        """Change some fields of an object. Raises Refused, OSError."""
        return self._call("PATCH", path, what, "application/merge-patch+json")

    def delete(self, path: str) -> Any:
        """Delete the object at ``path``. Raises Refused, OSError."""
        return self._call("DELETE", path)

    def well(self, path: str = "/readyz") -> bool:
        """Return whether the apiserver responds at ``path`` with success."""
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
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise Refused(response.status, f"{method} {path}: {response.status} {_reason(content)}")
        return content


def _reason(content: bytes) -> str:
    try:
        return str(json.loads(content)["message"])[:_MAX_MESSAGE]
    except (ValueError, KeyError, TypeError):
        return content.decode("utf-8", "replace")[:_MAX_MESSAGE]
