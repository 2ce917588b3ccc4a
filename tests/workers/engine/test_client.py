"""Requests and their errors: a server that gives any answer stands for an engine in trouble."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import ValidationError

from reflink.linking.policy import Policy
from reflink.stopwatch import Stopwatch
from tests.workers.engine.engines import candidates, catalog_of, cite, work
from workers.config.engine import EngineSearchSettings, EngineSettings
from workers.config.settings import LinkerSettings
from workers.devkit.ports import free_port
from workers.engine.candidates import EngineCandidates
from workers.engine.client import Engine
from workers.engine.errors import Conflict, EngineError, EngineRefused, EngineTimeout, EngineUnavailable, NotFound
from workers.engine.index import Version
from workers.errors import BadSettings, ServiceRefused, ServiceUnavailable

WATERMARK = {"_index": "i", "_source": {"watermark": {"offset": 1, "shards": 1}}}
#: The mark of a copy that is as new as the watermark.
MARK = {"sort": [1e9, "1"]}


@contextmanager
def answering(*answers: tuple[int, Any]) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Serve these answers in turn, the last one for ever. Yield the address and the requests: path and headers."""
    left, requests = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, body = left.pop(0) if len(left) > 1 else left[0]
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    for method in ("GET", "POST"):
        setattr(Handler, f"do_{method}", Handler.answer)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def client(urls: str, **more: Any) -> Engine:
    return Engine(EngineSettings(engine="opensearch", engine_urls=urls, engine_timeout_s=2, **more))


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (503, {"error": {"type": "cluster_block_exception", "reason": "no master"}}, EngineUnavailable),
        (429, {"error": {"type": "circuit_breaking_exception", "reason": "too large"}}, EngineUnavailable),
        (500, {"error": "broken"}, EngineUnavailable),
        (200, b"<html>a proxy</html>", EngineUnavailable),
        (401, b"", EngineRefused),
        (403, {"error": {"type": "security_exception", "reason": "no permissions"}}, EngineRefused),
        (404, {"found": False}, NotFound),
        (409, {"error": {"type": "version_conflict_engine_exception"}}, Conflict),
        (400, {"error": {"type": "parsing_exception", "reason": "unknown query"}}, EngineError),
    ],
)
def test_each_answer_is_an_error_of_its_kind(status: int, body: Any, error: type[Exception]):
    with answering((status, body)) as (url, _), pytest.raises(error) as raised:
        client(url).call("search", "POST", "/x", {})
    assert type(raised.value) is error
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ServiceUnavailable) == (error is EngineUnavailable)
    assert isinstance(raised.value, ServiceRefused) == (error is EngineRefused)


def test_a_node_that_does_not_answer_is_left_out():
    with answering((200, {"ok": True})) as (url, requests):
        engine = client(f"http://127.0.0.1:{free_port()},{url}")
        for _ in range(6):
            assert engine.call("search", "GET", "/") == {"ok": True}
        assert len(requests) == 6


def test_no_node_answers():
    with pytest.raises(EngineUnavailable, match="fails"):
        client(f"http://127.0.0.1:{free_port()}").call("search", "GET", "/")


def test_the_password_is_sent_and_never_shown():
    with answering((403, {"error": "no"})) as (url, requests):
        engine = client(url, engine_username="reflink", engine_password="secret-word")
        with pytest.raises(EngineRefused, match="REFLINK_ENGINE_PASSWORD") as error:
            engine.call("search", "GET", "/")
    assert requests[0][1]["authorization"].startswith("Basic ")
    assert "secret-word" not in str(error.value)
    assert "secret-word" not in repr(engine.settings)


@pytest.mark.parametrize(
    "urls", ["127.0.0.1:9200", "http://127.0.0.1", "ftp://h:1", "http://u:p@h:9200", "http://h:port", " , ", "http://:9200"]
)
def test_an_invalid_address_is_refused(urls: str):
    with pytest.raises(BadSettings, match="REFLINK_ENGINE_URLS"):
        client(urls)


def test_settings_that_do_not_fit_are_refused():
    for wrong, message in (
        ({"engine": "opensearch"}, "REFLINK_ENGINE_URLS is required"),
        ({"engine_username": "u"}, "required together"),
        ({"engine_index": "Upper"}, "lower-case"),
        ({"engine_index": "-dash"}, "lower-case"),
        ({"engine_index": "a,b"}, "lower-case"),
    ):
        with pytest.raises(ValidationError, match=message):
            EngineSettings(**wrong)
    with pytest.raises(ValidationError, match="REFLINK_ENGINE=native"):
        LinkerSettings(engine="opensearch", engine_urls="http://h:9200", profile="paper")


def test_a_missing_file_of_authorities_is_refused(tmp_path: Any):
    with pytest.raises(BadSettings, match="REFLINK_ENGINE_CA_FILE"):
        client("https://h:9200", engine_ca_file=tmp_path / "none.pem")


SOIL = work(1, "Soil fungi")


@pytest.mark.parametrize(
    "response",
    [
        {"status": 200, "timed_out": True, "_shards": {"failed": 0}, "hits": {"hits": []}},
        {"status": 200, "timed_out": False, "_shards": {"failed": 1}, "hits": {"hits": []}},
        {"status": 200, "hits": {"hits": []}},
        {"status": 200, "hits": {"hits": [{"sort": [1e9, "0"]}, {"sort": [1.0, "doi:10.5555/2"]}]}},
        {"status": 503, "error": {"type": "search_phase_execution_exception", "reason": "all shards failed"}},
        {"status": 404, "error": {"type": "index_not_found_exception", "reason": "no such index"}},
        {"status": 429, "error": {"type": "rejected_execution_exception", "reason": "queue full"}},
    ],
)
def test_a_search_without_the_result_of_all_shards_is_an_outage(response: Any):
    """Its empty result would otherwise be published as "not in the catalog". So is one without marks, or with an old one."""
    with answering((200, WATERMARK), (200, {"responses": [response]})) as (url, _):
        source = candidates(EngineSearchSettings(engine="opensearch", engine_urls=url), catalog_of([SOIL]))
        with pytest.raises(EngineUnavailable):
            source.near([cite(SOIL)], Policy(), Stopwatch())


def test_a_rejected_query_is_the_references_fault():
    rejected = {"status": 400, "error": {"type": "query_shard_exception", "reason": "too many clauses"}}
    with answering((200, WATERMARK), (200, {"responses": [rejected]})) as (url, _):
        source = candidates(EngineSearchSettings(engine="opensearch", engine_urls=url), catalog_of([SOIL]))
        with pytest.raises(EngineError, match="too many clauses"):
            source.near([cite(SOIL)], Policy(), Stopwatch())


def test_an_error_that_names_no_query_is_an_outage():
    """A closed index answers 400 as well."""
    closed = {"status": 400, "error": {"type": "index_closed_exception", "reason": "closed"}}
    with answering((200, WATERMARK), (200, {"responses": [closed]})) as (url, _):
        source = candidates(EngineSearchSettings(engine="opensearch", engine_urls=url), catalog_of([SOIL]))
        with pytest.raises(EngineUnavailable, match="index_closed"):
            source.near([cite(SOIL)], Policy(), Stopwatch())


def test_a_request_that_takes_too_long_is_halved():
    """A record of the fallback may have hundreds of references, which only a smaller request can answer in time."""
    many = [cite(SOIL, number) for number in range(5)]
    sizes: list[int] = []

    class Slow(Engine):
        def call(self, request: str, method: str, target: str, body: object = None, **more: Any) -> Any:
            assert isinstance(body, bytes)
            sizes.append(body.count(b"\n") // 2)
            if sizes[-1] > 1:
                raise EngineTimeout("too slow")
            return {"responses": [{"status": 200, "hits": {"hits": [MARK, {"sort": [1.0, SOIL.id]}]}}]}

    settings = EngineSearchSettings(engine="opensearch", engine_urls="http://h:9200")
    source = EngineCandidates(Slow(settings), catalog_of([SOIL]), Version("i", 1), hits=5, wider_hits=5)
    assert [[work_id for work_id, _ in near] for near in source.near(many, Policy(), Stopwatch())] == [[SOIL.id]] * 5
    assert sizes == [5, 2, 1, 1, 3, 1, 2, 1, 1]


def test_many_references_are_searched_in_several_requests():
    many = [cite(SOIL, number) for number in range(150)]
    sizes: list[int] = []

    class Counting(Engine):
        def call(self, request: str, method: str, target: str, body: object = None, **more: Any) -> Any:
            assert isinstance(body, bytes)
            sizes.append(body.count(b"\n") // 2)
            return {"responses": [{"status": 200, "hits": {"hits": [MARK]}}] * sizes[-1]}

    settings = EngineSearchSettings(engine="opensearch", engine_urls="http://h:9200")
    source = EngineCandidates(Counting(settings), catalog_of([SOIL]), Version("i", 1), hits=5, wider_hits=5)
    assert source.near(many, Policy(), Stopwatch()) == [[] for _ in many]
    assert sizes == [64, 64, 22]


def test_a_timeout_above_a_quarter_of_the_deadline_is_refused():
    with pytest.raises(ValidationError, match="REFLINK_ENGINE_TIMEOUT_S must be at most a quarter"):
        LinkerSettings(engine="opensearch", engine_urls="http://h:9200", engine_timeout_s=40)
