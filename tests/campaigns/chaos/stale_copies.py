"""``python -m tests.campaigns.chaos.stale_copies``: searches that a node answers which the cluster removed while it was paused.

The node with the replica of the only shard is paused until the cluster has removed it. The index then gets a work and a
watermark, and searches are sent to the paused node, as a client does that spreads its requests over all nodes. The node resumes
and answers them before it learns that it was removed. A search that began after the watermark was read must find the work.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

from benchmarks.machine import describe
from reflink.entities import Work
from tests.data import CACHE
from workers.config.engine import EngineSettings
from workers.devkit.search_engine import SearchEngine
from workers.engine.client import Engine
from workers.engine.errors import EngineUnavailable
from workers.engine.index import Index, Version, version
from workers.engine.origin import Origin
from workers.engine.searches import ids_of, with_marks

_ALIAS: Final = "stale"
_SEARCHES: Final = 3
#: Time for the searches to reach the paused node.
_ARRIVE_S: Final = 0.5
_POLL_S: Final = 0.3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a search was stale, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.chaos.stale_copies", description=__doc__)
    parser.add_argument("--pauses", type=int, default=4, metavar="N", help="number of pauses (4)")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    with SearchEngine.start(nodes=3, cache=CACHE) as nodes:
        index = Index.create(_client(nodes), _ALIAS, Origin("stale", "catalog", None), shards=1, replicas=1)
        index.serve(_ALIAS)
        for number in range(options.pauses):
            counts.update(_pause(nodes, index.name, number))
    print(json.dumps({"machine": describe(), "pauses": options.pauses, "searches": dict(counts)}, indent=1))
    return int(bool(counts["stale"]))


def _pause(nodes: SearchEngine, name: str, number: int) -> list[str]:
    """Pause the node of the replica; return what became of each search: ``complete``, ``stale``, ``noticed`` (by
    its marks) or ``failed``."""
    while _get(nodes, 0, f"/_cluster/health/{name}").get("status") != "green":
        time.sleep(_POLL_S)
    copies = _get(nodes, 0, f"/_cat/shards/{name}?format=json")
    replica = next(copy["node"] for copy in copies if copy["prirep"] == "r")
    victim = [node.name for node in nodes.nodes].index(replica)
    nodes.pause(victim)
    rest = Index(_client(nodes, without=victim), name)
    work = Work(id=f"doi:10.1/{number}", title=f"growth of trout {number}")
    while True:  # until the cluster has removed the node
        try:
            rest.apply([(number, work)])
            rest.publish(number + 1)
            break
        except EngineUnavailable:
            time.sleep(_POLL_S)
    assert version(rest.engine, _ALIAS).offset == number + 1
    known = version(rest.engine, _ALIAS)
    query = with_marks(
        {"size": 100, "query": {"match": {"words": "trout"}}, "sort": [{"_score": "desc"}, {"id": "asc"}]}, known
    )
    with ThreadPoolExecutor(_SEARCHES) as pool:
        sent: list[Future[Any]] = [
            pool.submit(_get, nodes, victim, f"/{name}/_search?allow_partial_search_results=false", query)
            for _ in range(_SEARCHES)
        ]
        time.sleep(_ARRIVE_S)
        nodes.resume(victim)
        answers = [each.result() for each in sent]
    nodes.wait()
    return [_outcome(answer, known, rest.engine, work.id) for answer in answers]


def _outcome(answer: Any, known: Version, engine: Engine, work_id: str) -> str:
    if "hits" not in answer:
        return "failed"
    try:
        return "complete" if work_id in ids_of(answer, known, engine) else "stale"
    except EngineUnavailable:
        return "noticed"


def _client(nodes: SearchEngine, without: int | None = None) -> Engine:
    urls = ",".join(url for at, url in enumerate(nodes.urls) if at != without)
    return Engine(EngineSettings(engine="opensearch", engine_urls=urls))


def _get(nodes: SearchEngine, at: int, path: str, body: object = None) -> Any:
    """Send a request to one node; return the parsed answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", nodes.nodes[at].port, timeout=60)) as connection:
        headers = {"content-type": "application/json"}
        connection.request("GET", path, None if body is None else json.dumps(body), headers)
        return json.loads(connection.getresponse().read())


if __name__ == "__main__":
    raise SystemExit(main())
