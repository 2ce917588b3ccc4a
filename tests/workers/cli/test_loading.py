"""The command ``load``: from sources into the topic, with metrics of the load, its exit codes, and refusals."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reflink.updating import State
from tests.helm.expressions import rules, selectors
from tests.workers.commands import Command
from workers.config.settings import KafkaSettings


@pytest.fixture
def gateway() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server in place of a Pushgateway: its address, and what was pushed."""
    pushed: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            pushed.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", pushed
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def load(kafka: KafkaSettings, command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs ``reflink-worker load`` on topics of its own."""
    monkeypatch.setenv("REFLINK_KAFKA_BOOTSTRAP_SERVERS", kafka.kafka_bootstrap_servers)
    monkeypatch.setenv("REFLINK_TOPIC_PREFIX", kafka.topic_prefix)
    return lambda *arguments: command("load", "--jobs", "1", *map(str, arguments))


def crossref(folder: Path, *dois: str, more: str = "") -> Path:
    """Write a file of Crossref's JSON lines."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"DOI": doi, "title": [f"The title of {doi}"], "type": "journal-article"}) for doi in dois]
    (folder / "works.jsonl").write_text("\n".join([*lines, more]))
    return folder


def test_a_source_is_loaded_and_its_changes_again(load, tmp_path: Path):
    folder = crossref(tmp_path / "crossref", "10.1000/a", "10.1000/b")
    first = load("--from", "crossref", folder, "--state", tmp_path / "state", "--json")
    assert (first[0], json.loads(first[1])["works sent"]) == (0, 2)
    crossref(folder, "10.1000/a", "10.1000/b", "10.1000/c")
    again = load("--from", "crossref", folder, "--state", tmp_path / "state", "--json")
    assert (again[0], json.loads(again[1])["works sent"], json.loads(again[1])["works"]) == (0, 1, 3)


def test_a_configuration_names_sources_relative_to_its_folder(load, tmp_path: Path):
    crossref(tmp_path / "crossref", "10.1000/a", more="no JSON")
    (tmp_path / "sources.toml").write_text('[[sources]]\nname = "crossref"\npaths = ["crossref"]\n')
    code, _, err = load("--config", tmp_path / "sources.toml", "--state", tmp_path / "state")
    assert code == 1
    assert "1 records and 0 files could not be read" in err
    assert "1 works sent" in err


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("sources = []", "sources"),
        ('[[sources]]\nname = "other"\npaths = ["x"]', "'other' is not one of"),
        ('[[sources]]\nname = "crossref"\npaths = []', "sources.0.paths"),
        ('[[sources]]\nname = "ris"\npaths = ["x"]\n[[sources]]\nname = "ris"\npaths = ["y"]', "ris occurs twice"),
        ("no = toml =", "not TOML"),
        ('[[sources]]\nname = "crossref"\npaths = ["x"]\nmax = 1', "sources.0.max"),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_field(load, tmp_path: Path, text: str, fault: str):
    (tmp_path / "sources.toml").write_text(text)
    code, _, err = load("--config", tmp_path / "sources.toml", "--state", tmp_path / "state")
    assert code == 2
    assert fault in err
    assert len(err.splitlines()) == 1


def test_a_load_without_files_is_refused(load, tmp_path: Path):
    code, _, err = load("--from", "crossref", tmp_path / "nothing", "--state", tmp_path / "state")
    assert code == 12
    assert "nothing" in err


def test_sources_need_a_state(load, tmp_path: Path):
    assert load("--from", "crossref", tmp_path)[0] == 2


def test_metrics_of_a_load_are_pushed_and_written(load, tmp_path: Path, gateway):
    address, pushed = gateway
    file, state = tmp_path / "load.prom", tmp_path / "state"
    folder = crossref(tmp_path / "crossref", "10.1000/a")
    options = ("--from", "crossref", folder, "--state", state, "--metrics", file, "--pushgateway", address)
    assert load(*options)[0] == 0
    ((path, body),) = pushed
    assert path.startswith("/metrics/job/reflink/")
    assert body.decode() == file.read_text()
    found = {each.name: each for each in text_string_to_metric_families(body.decode())}
    named = {name for rule in rules() if rule.file == "sources" for name, _ in selectors(rule.expression)}
    assert named <= {name for name, family in found.items() if family.samples}
    assert found["reflink_load_success"].samples[0].value == 1
    assert found["reflink_source_newest_timestamp_seconds"].samples[0].value == (folder / "works.jsonl").stat().st_mtime
    (folder / "works.jsonl").unlink()
    assert load(*options)[0] == 12
    assert "reflink_load_success 0.0" in pushed[-1][1].decode()


def test_metrics_that_cannot_be_delivered_do_not_fail_a_load(load, tmp_path: Path):
    folder = crossref(tmp_path / "crossref", "10.1000/a")
    code, _, err = load("--from", "crossref", folder, "--state", tmp_path / "state", "--pushgateway", "http://127.0.0.1:1")
    assert code == 0
    assert "the metrics could not be delivered" in err


def test_a_state_in_use_ends_a_load_with_the_code_of_the_state_folder(load, tmp_path: Path):
    folder = crossref(tmp_path / "crossref", "10.1000/a")
    with State(tmp_path / "state"):
        code, _, err = load("--from", "crossref", folder, "--state", tmp_path / "state")
    assert code == 10
    assert "another process uses it" in err


def test_a_refused_load_still_has_the_age_of_its_sources(load, tmp_path: Path):
    folder, file = crossref(tmp_path / "crossref", "10.1000/a"), tmp_path / "load.prom"
    options = ("--from", "crossref", folder, "--state", tmp_path / "state", "--metrics", file)
    assert load(*options)[0] == 0
    newest = (folder / "works.jsonl").stat().st_mtime
    (folder / "works.jsonl").unlink()
    assert load(*options)[0] == 12
    found = {each.name: each for each in text_string_to_metric_families(file.read_text())}
    assert found["reflink_source_newest_timestamp_seconds"].samples[0].value == newest
    assert found["reflink_load_success"].samples[0].value == 0


def test_a_wrong_address_of_a_pushgateway_does_not_fail_a_load(load, tmp_path: Path):
    folder = crossref(tmp_path / "crossref", "10.1000/a")
    code, _, err = load("--from", "crossref", folder, "--state", tmp_path / "state", "--pushgateway", "http://a b:c")
    assert code == 0
    assert "the metrics could not be delivered" in err
