"""Requests to the nodes of a search engine: JSON over HTTP, spread over the nodes, with errors that say what to do.

The requests are those that OpenSearch and Elasticsearch answer alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from elastic_transport import ConnectionTimeout, NodeConfig, OrjsonSerializer, Transport, TransportError
from elastic_transport.client_utils import basic_auth_to_header, url_to_node_config

from workers.config.engine import EngineSettings
from workers.engine.errors import Conflict, EngineError, EngineRefused, EngineTimeout, EngineUnavailable, NotFound
from workers.errors import BadSettings
from workers.telemetry import metrics

#: States that another attempt may not meet: overload, and nodes that start, leave or lack a copy of a shard.
_TRANSIENT: Final = frozenset((408, 429, 500, 502, 503, 504))
_ERRORS: Final = {404: NotFound, 409: Conflict}
#: The kinds of requests by which the metrics count.
_REQUESTS: Final = ("search", "watermark", "bulk", "refresh", "index")
_MAX_DEAD_S: Final = 5.0
_QUOTED: Final = 300


class Engine:
    """A client of the nodes in the settings. May be used by several threads."""

    def __init__(self, settings: EngineSettings) -> None:
        """Raises BadSettings for an invalid address or a missing file. Connects to no node."""
        self.settings = settings
        nodes = _nodes(settings)
        for request in _REQUESTS:  # so that the first failure counts as an increase
            metrics.ENGINE_FAILURES.labels(request)
        self._transport = Transport(
            nodes,
            max_retries=len(nodes),
            retry_on_status=(502, 503, 504),
            max_dead_node_backoff=_MAX_DEAD_S,
            serializers={"application/json": OrjsonSerializer()},
            meta_header=False,
        )

    def call(self, request: str, method: str, target: str, body: object = None, *, timeout_s: float | None = None) -> Any:
        """Send a request and return the decoded answer. ``request`` names its kind for the metrics.

        ``body``: an object that becomes JSON, or lines of JSON for a bulk request or a multiple search. Raises
        EngineUnavailable if the request may succeed later, EngineRefused if the engine rejects the client, NotFound or
        Conflict, and EngineError if it rejects the request.
        """
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        timeout_s = timeout_s or self.settings.engine_timeout_s
        started = time.monotonic()
        try:
            answer = self._transport.perform_request(method, target, body=body, headers=headers, request_timeout=timeout_s)
        except ConnectionTimeout:
            raise EngineTimeout(str(self.unavailable(request, f"no answer within {timeout_s:g} s"))) from None
        except TransportError as error:
            raise self.unavailable(request, _described(error)) from None
        finally:
            metrics.ENGINE_SECONDS.labels(request).observe(time.monotonic() - started)
        status, found = answer.meta.status, answer.body
        if status < 300:
            if not isinstance(found, dict):  # a proxy may answer in place of the engine
                raise self.unavailable(request, f"not an answer of a search engine: {_reason(found)}")
            return found
        reason = f"HTTP {status}: {_reason(found)}"
        if status in _TRANSIENT:
            raise self.unavailable(request, reason)
        if status in (401, 403):
            raise self.refused(f"{method} {target.partition('?')[0]}: {reason}")
        raise _ERRORS.get(status, EngineError)(f"{method} {target}: {reason}")

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def refused(self, reason: str) -> EngineRefused:
        """Return the error of a client that the engine rejects."""
        return EngineRefused(
            f"the search engine at {self.settings.engine_urls} refuses {reason}; check REFLINK_ENGINE_USERNAME, "
            "REFLINK_ENGINE_PASSWORD and the rights of the user"
        )

    def unavailable(self, request: str, reason: str) -> EngineUnavailable:
        """Count a request that failed, and return the error to raise."""
        metrics.ENGINE_FAILURES.labels(request).inc()
        return EngineUnavailable(f"the search engine at {self.settings.engine_urls} fails ({request}): {reason}")


def lines(objects: Sequence[object]) -> bytes:
    """Return the body of a bulk request or a multiple search: one object a line."""
    return b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in objects)


def _nodes(settings: EngineSettings) -> list[NodeConfig]:
    nodes = []
    for url in filter(None, (each.strip() for each in (settings.engine_urls or "").split(","))):
        parts = urlsplit(url)
        try:
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port is not None
        except ValueError:
            valid = False
        if not valid or parts.username is not None:
            raise BadSettings("REFLINK_ENGINE_URLS: expected http(s)://host:port, separated by commas, without a user")
        more: dict[str, Any] = {}
        if settings.engine_username is not None and settings.engine_password is not None:
            password = settings.engine_password.get_secret_value()
            more["headers"] = {"authorization": basic_auth_to_header((settings.engine_username, password))}
        if parts.scheme == "https" and settings.engine_ca_file is not None:
            if not settings.engine_ca_file.is_file():
                raise BadSettings(f"REFLINK_ENGINE_CA_FILE: {settings.engine_ca_file} is not a file")
            more["ca_certs"] = str(settings.engine_ca_file)
        nodes.append(url_to_node_config(url).replace(**more))
    if not nodes:
        raise BadSettings("REFLINK_ENGINE_URLS is required with REFLINK_ENGINE=opensearch")
    return nodes


def _described(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", error)).split())[:_QUOTED]


def _reason(answer: object) -> str:
    """Return the reason in an error's body, or the beginning of the body."""
    found = answer.get("error", answer) if isinstance(answer, dict) else answer
    if isinstance(found, dict):
        found = found.get("reason") or found.get("type") or found
    return " ".join(str(found).split())[:_QUOTED]
