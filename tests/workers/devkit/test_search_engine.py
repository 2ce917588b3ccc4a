"""Nodes of a search engine: started, killed, paused and restarted as processes, asked over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from elastic_transport import NodeConfig, Urllib3HttpNode

from tests.data import CACHE
from tests.workers.echo import until
from workers.devkit import __main__ as bring_jars
from workers.devkit.errors import LocalSetupError
from workers.devkit.jars import KAFKA, jars, java
from workers.devkit.search_engine import SearchEngine, bring
from workers.devkit.search_flavours import FLAVOURS


def ask(engine: SearchEngine, index: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request to one node; return the status and the parsed answer."""
    node = Urllib3HttpNode(NodeConfig("http", "127.0.0.1", engine.nodes[index].port, request_timeout=60))
    try:
        data = None if body is None else orjson.dumps(body)
        meta, raw = node.perform_request(method, path, data, {"content-type": "application/json"})
    finally:
        node.close()
    return meta.status, orjson.loads(raw)


def index_one(engine: SearchEngine, name: str, replicas: int = 0) -> None:
    created = ask(engine, 0, "PUT", f"/{name}", {"settings": {"number_of_shards": 1, "number_of_replicas": replicas}})
    assert created[0] == 200, created
    stored = ask(engine, 0, "PUT", f"/{name}/_doc/1?refresh=true", {"title": "Attention is all you need"})
    assert stored[0] == 201, stored


def hits(engine: SearchEngine, index: int, name: str) -> list[str]:
    """Return the ids of the found documents; empty while shards are not assigned."""
    status, found = ask(engine, index, "POST", f"/{name}/_search", {"query": {"match": {"title": "attention"}}})
    return [hit["_id"] for hit in found["hits"]["hits"]] if status == 200 else []


def colour(engine: SearchEngine, index: int, name: str) -> str:
    return str(ask(engine, index, "GET", f"/_cluster/health/{name}")[1]["status"])


def bound(pid: int) -> set[str]:
    """Return the addresses (hexadecimal, as in /proc) on which a process listens."""
    inodes = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(each)
        except FileNotFoundError:  # closed since
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}


def test_a_document_is_found_and_a_node_listens_on_loopback_only(search_engine: SearchEngine):
    index_one(search_engine, "one")
    assert hits(search_engine, 0, "one") == ["1"]
    assert search_engine.urls == [f"http://127.0.0.1:{search_engine.nodes[0].port}"]
    process = search_engine.nodes[0].process
    assert process is not None
    if Path("/proc/self/net").exists():
        loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
        addresses = bound(process.pid)
        assert addresses
        assert addresses <= loopback


def test_analyzers_updates_and_deletions_by_query_and_scripts_are_there(search_engine: SearchEngine):
    index_one(search_engine, "modules")
    analysis = {"tokenizer": "standard", "filter": ["lowercase", "asciifolding"], "text": "Émile"}
    assert [each["token"] for each in ask(search_engine, 0, "POST", "/_analyze", analysis)[1]["tokens"]] == ["emile"]
    script = {"script": {"source": "ctx._source.year = 2017", "lang": "painless"}}
    assert ask(search_engine, 0, "POST", "/modules/_update/1?refresh=true", script)[0] == 200
    query = {"query": {"term": {"year": 2017}}}
    assert ask(search_engine, 0, "POST", "/modules/_delete_by_query", query)[1]["deleted"] == 1


@pytest.mark.full
def test_data_survive_a_stop_and_a_kill(tmp_path: Path):
    with SearchEngine.start(tmp_path, cache=CACHE) as engine:
        index_one(engine, "kept")
        engine.restart(0)
        until(lambda: hits(engine, 0, "kept") == ["1"])
        engine.restart(0, kill=True)
        until(lambda: hits(engine, 0, "kept") == ["1"])
        process = engine.nodes[0].process
    assert process is not None
    assert process.poll() is not None
    assert (tmp_path / "node-0" / "data").is_dir(), "the folder belongs to the caller"


@pytest.mark.full
def test_elasticsearch_runs_too():
    with SearchEngine.start(flavour="elasticsearch", cache=CACHE) as engine:
        index_one(engine, "one")
        assert hits(engine, 0, "one") == ["1"]
        assert ask(engine, 0, "GET", "/")[1]["version"]["number"] == FLAVOURS["elasticsearch"].server.version
        folder = engine.folder
    assert not folder.exists()


@pytest.fixture(scope="module")
def three() -> Iterator[SearchEngine]:
    with SearchEngine.start(nodes=3, cache=CACHE) as engine:
        yield engine


@pytest.mark.full
def test_an_index_with_a_replica_survives_a_killed_node(three: SearchEngine):
    index_one(three, "replicated", replicas=1)
    until(lambda: colour(three, 0, "replicated") == "green")
    three.kill(0)
    three.wait()
    until(lambda: colour(three, 1, "replicated") in ("yellow", "green"))
    assert hits(three, 1, "replicated") == hits(three, 2, "replicated") == ["1"]
    three.restart(0)
    until(lambda: colour(three, 0, "replicated") == "green")
    assert hits(three, 0, "replicated") == ["1"]


@pytest.mark.full
def test_the_cluster_removes_a_paused_node_and_takes_it_back(three: SearchEngine):
    index_one(three, "paused", replicas=1)
    until(lambda: colour(three, 0, "paused") == "green")
    three.pause(2)
    three.wait()
    assert three.nodes[2].alive
    until(lambda: colour(three, 0, "paused") in ("yellow", "green"))
    assert hits(three, 0, "paused") == ["1"]
    three.resume(2)
    three.wait()
    assert hits(three, 2, "paused") == ["1"]


@pytest.mark.full
def test_a_node_that_cannot_start_is_reported_with_the_end_of_its_log(tmp_path: Path):
    with pytest.raises(LocalSetupError, match=r"(?s)node-0 of the local OpenSearch.*has ended.*no\.such\.setting"):
        SearchEngine.start(tmp_path, cache=CACHE, extra={"no.such.setting": "1"})


def test_a_node_that_does_not_run_cannot_be_paused(tmp_path: Path):
    engine = SearchEngine(FLAVOURS["opensearch"], [], tmp_path, owns_folder=False)
    engine.wait()  # for no node
    with pytest.raises(IndexError):
        engine.pause(0)


def test_missing_java_and_maven_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(LocalSetupError, match=r"Java >= 17 and < 24 is needed to run a local OpenSearch and none was found"):
        SearchEngine.start(cache=tmp_path)
    with pytest.raises(LocalSetupError, match=r"Maven is needed to bring OpenSearch's jars"):
        bring(cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "fits"), [("11.0.2", False), ("17.0.15", True), ("23.0.1", True), ("24", False)])
def test_java_is_neither_too_old_nor_too_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, fits: bool):
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    server = FLAVOURS["opensearch"].server
    if fits:
        assert java(server) == str(program)
    else:
        with pytest.raises(LocalSetupError, match=f"is version {version.split('.')[0]}"):
            java(server)
    if version == "24":
        assert java(KAFKA) == str(program)


def test_a_failed_download_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    maven = programs / "mvn"
    maven.write_text('#!/bin/sh\nfor each; do case "$each" in -DoutputDirectory=*) mkdir -p "${each#*=}";; esac; done\n'
                     "echo 'no network'; exit 1\n")  # fmt: skip
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    cache = tmp_path / "cache"
    for server in (KAFKA, FLAVOURS["opensearch"].server):
        with pytest.raises(LocalSetupError, match=rf"Maven could not bring {server.name}'s jars: no network"):
            jars(server, cache)
    assert list(cache.iterdir()) == []


def test_the_jars_of_both_servers_are_brought_before_the_tests(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REFLINK_CACHE", str(CACHE))
    assert bring_jars.main() == 0
    assert {KAFKA.folder, FLAVOURS["opensearch"].server.folder} <= {each.name for each in CACHE.iterdir()}
