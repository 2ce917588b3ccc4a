"""Query a Prometheus server over its HTTP API, after replacing Grafana's variables in the expressions."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

_TIMEOUT_S: Final = 30.0


class QueryFailed(Exception):
    """Prometheus did not answer, or rejected the expression; the message has the details."""


class Queries:
    """The queries of one server. ``url`` as in ``http://localhost:9090``."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def instant(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """Return the vector at ``at`` (seconds since 1970, None: now): ``metric`` (labels), ``value``. Raises QueryFailed."""
        time = {} if at is None else {"time": str(at)}
        found: list[dict[str, Any]] = self._get("query", query=expression, **time)["result"]
        return found

    def over(self, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        """Return the series in a time range, a value every ``step`` seconds: ``metric`` and ``values``. Raises QueryFailed."""
        times = {"start": str(start), "end": str(end), "step": str(step)}
        found: list[dict[str, Any]] = self._get("query_range", query=expression, **times)["result"]
        return found

    def metadata(self) -> dict[str, list[dict[str, str]]]:
        """Return type and help of every scraped metric, by its name in the exposition. Raises QueryFailed."""
        found: dict[str, list[dict[str, str]]] = self._get("metadata")
        return found

    def _get(self, what: str, **parameters: str) -> Any:
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            body = error.read().decode(errors="replace")[:500]
            raise QueryFailed(f"{parameters.get('query', what)}: {body or error.reason}") from None
        except (OSError, ValueError) as error:
            raise QueryFailed(f"{self.url} does not answer: {error}") from None
        return answer["data"]


def filled(expression: str, variables: Mapping[str, str]) -> str:
    """Return the expression as Grafana would send it: ``$name`` and ``${name}`` replaced, longer names first."""
    for name in sorted(variables, key=len, reverse=True):
        expression = expression.replace(f"${{{name}}}", variables[name]).replace(f"${name}", variables[name])
    return expression
