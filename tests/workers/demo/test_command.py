"""The demo's parts around its run: needs, defaults, signals, waves, the catalog's folder, the display."""

from __future__ import annotations

import argparse
import gzip
import io
import os
import signal
from pathlib import Path

import pytest

from reflink.catalog import Catalog, snapshot
from reflink.entities import Work
from reflink.errors import BadRecord, NotAPaper, ReflinkError
from reflink.terminal import Terminal
from tests.kafka import read_all
from workers.config.settings import FallbackSettings, KafkaSettings, LinkerSettings, read
from workers.demo import catalogs, command
from workers.demo.demonstration import workspace
from workers.demo.display import Display, State
from workers.demo.papers import Published, expect_papers, publish_wave, waves
from workers.devkit.errors import LocalSetupError
from workers.devkit.jars import default_cache
from workers.devkit.requirements import missing_needs
from workers.kafka.bulk_producer import Sender

SETTINGS = (read(LinkerSettings), read(FallbackSettings))
PAPER = b"""<article><front><article-meta><article-id pub-id-type="doi">10.5555/one</article-id>
<title-group><article-title>A title</article-title></title-group></article-meta></front></article>"""


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(given)


def test_the_examples_are_the_default_and_have_expectations() -> None:
    papers, catalog, expected = command.chosen(arguments())
    assert (papers.name, catalog.name) == ("papers", "works.jsonl")
    assert expected is not None
    assert expected.name == "expected.json"
    scenes = command.second_act(arguments())
    assert scenes is not None
    assert scenes.is_dir()
    assert command.second_act(arguments("--no-second-act")) is None


@pytest.mark.parametrize("given", [("--profile", "paper"), ("--papers", "."), ("--catalog", str(Path(__file__)))])
def test_other_inputs_have_only_given_expectations(given: tuple[str, str]) -> None:
    assert command.chosen(arguments(*given))[2] is None
    assert command.second_act(arguments(*given, "--expected", ".")) is None, "the scenes belong to the examples"
    assert command.chosen(arguments(*given, "--expected", "."))[2] == Path()


@pytest.mark.parametrize("option", ["--papers", "--catalog", "--expected", "--snapshot"])
def test_a_missing_path_is_named(option: str) -> None:
    with pytest.raises(ReflinkError, match=f"{option}: nowhere does not exist"):
        command.chosen(arguments(option, "nowhere"))


def test_the_outputs_need_an_existing_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ReflinkError, match=r"--json: the folder of nowhere/a\.json"):
        command.chosen(arguments("--json", "nowhere/a.json"))
    (tmp_path / "mine").touch()
    with pytest.raises(ReflinkError, match="is not empty"):
        command.chosen(arguments("--keep", str(tmp_path)))


def test_missing_java_and_maven_are_reported_in_one_line_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("REFLINK_CACHE", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    lines = list(missing_needs({}))
    assert [line.split()[0] for line in lines] == ["Java", "Maven"]
    assert not any("\n" in line for line in lines)
    (tmp_path / "kafka-4.3.0").mkdir()
    assert [line.split()[0] for line in missing_needs({})] == ["Java"], "the jars exist"
    assert list(missing_needs({command.BOOTSTRAP: "elsewhere:9092"})) == []
    assert default_cache() == tmp_path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_once(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    cleaned = False
    with pytest.raises(command.Interrupted) as raised, command.signals_interrupt():  # noqa: PT012
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)  # a second signal does not interrupt the cleanup
            cleaned = True
    assert (cleaned, raised.value.exit_code, str(raised.value)) == (True, 128 + number, number.name)
    assert signal.getsignal(number) is before


def test_waves_are_numbered_folders_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("10-last", "2-second", "1-first", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "3-file.xml").touch()
    assert [each.name for each in waves(tmp_path)] == ["1-first", "2-second", "10-last"]
    assert waves(tmp_path / "other") == [tmp_path / "other"]
    assert waves(tmp_path / "3-file.xml") == [tmp_path / "3-file.xml"]


def test_papers_are_published_by_id_and_unreadable_files_by_name(kafka: KafkaSettings, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(PAPER)
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(PAPER))
    (tmp_path / "c.xml").write_bytes(b"a poem")
    (tmp_path / "d.xml.gz").write_bytes(gzip.compress(PAPER)[:-9])
    published = Published()
    with Sender(kafka) as sender:
        names = list(publish_wave(tmp_path, sender, published, pointer_root=tmp_path, clock=lambda: 1.5))
    assert names == ["a.xml", "b.xml.gz", "c.xml", "d.xml.gz"]
    assert published.versions == {"doi:10.5555/one": 1501, "c.xml": 1500}, "two files with one id are two versions"
    assert published.files["doi:10.5555/one"] == ["a.xml", "b.xml.gz"]
    assert [name for name, _ in published.refused] == ["d.xml.gz"]
    assert sorted(record.timestamp for record in read_all(kafka, "papers")) == [1500, 1500, 1501]


def test_an_unreadable_archive_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "papers.tar").write_bytes(b"no tar")
    with pytest.raises(NotAPaper, match=r"papers\.tar: cannot be read"):
        expect_papers([tmp_path / "papers.tar"])


def test_a_wave_that_is_a_link_is_refused_unless_links_are_followed(tmp_path: Path) -> None:
    elsewhere, papers = tmp_path / "elsewhere", tmp_path / "papers"
    elsewhere.mkdir()
    papers.mkdir()
    (elsewhere / "a.xml").write_bytes(PAPER)
    (papers / "1-linked").symlink_to(elsewhere)
    with pytest.raises(NotAPaper, match="1-linked: a symbolic link"):
        waves(papers)
    assert waves(papers, follow_links=True) == [papers / "1-linked"]


def works_file(folder: Path, count: int) -> Path:
    path = folder / "works.jsonl"
    works = (Work(id=f"doi:10.1/{number}", title=f"Title {number}") for number in range(count))
    path.write_bytes(b"".join(work.to_json() + b"\n" for work in works))
    return path


def test_a_small_catalog_has_a_limited_number_of_works(tmp_path: Path) -> None:
    assert catalogs.is_small(works_file(tmp_path, catalogs.SMALL))
    assert not catalogs.is_small(works_file(tmp_path, catalogs.SMALL + 1))


def test_a_catalog_is_built_once_and_a_copy_is_bound(kafka: KafkaSettings, tmp_path: Path) -> None:
    works = works_file(tmp_path, 40)
    built = catalogs.build(works, tmp_path / "cache", *SETTINGS)
    made = (built / snapshot.MANIFEST).stat().st_mtime_ns
    assert catalogs.build(works, tmp_path / "cache", *SETTINGS) == built
    assert (built / snapshot.MANIFEST).stat().st_mtime_ns == made
    linker, fallback = SETTINGS
    for changed, same in (
        ({"semantic_mode": "TV"}, False),
        ({"precision": "bf16"}, False),
        ({"query_precision": "bf16"}, True),
    ):
        folder = catalogs.folder_of(works, tmp_path / "cache", linker.model_copy(update=changed), fallback)
        assert (folder == built) == same, changed
    assert catalogs.folder_of(works_file(tmp_path, 41), tmp_path / "cache", *SETTINGS) != built

    works = works_file(tmp_path, 40)
    copy = catalogs.linked_copy(built, tmp_path / "copy")
    assert catalogs.fill(works, kafka, lambda _: None, bound_to=copy) == 40
    assert snapshot.read(copy).topic == kafka.topic("catalog")
    assert snapshot.read(built).topic is None, "the cached snapshot is not bound to a topic"
    assert len(Catalog.open(copy)) == 40
    found = catalogs.find_works(kafka, {"doi:10.1/7", "doi:10.1/none"})
    assert {work_id: work.title for work_id, work in found.items()} == {"doi:10.1/7": "Title 7"}


def test_a_bad_line_of_the_catalog_ends_the_demo(kafka: KafkaSettings, tmp_path: Path) -> None:
    path = tmp_path / "works.jsonl"
    path.write_text('{"id": "doi:10.1/a", "title": "A"}\n{"id": \n')
    with pytest.raises(BadRecord, match=r"works\.jsonl:2"):
        catalogs.fill(path, kafka, lambda _: None)


def test_only_the_logs_of_a_failed_run_remain() -> None:
    display = Display(Terminal(file=io.StringIO()))
    with workspace(None, display) as gone:
        (gone / "kafka").mkdir()
    assert not gone.exists()
    with pytest.raises(ReflinkError), workspace(None, display) as failed:  # noqa: PT012
        (failed / "kafka").mkdir()
        (failed / "logs").mkdir()
        raise ReflinkError("it failed")
    assert [each.name for each in failed.iterdir()] == ["logs"]
    (failed / "logs").rmdir()
    failed.rmdir()
    with pytest.raises(command.Interrupted), workspace(None, display) as interrupted:  # noqa: PT012
        (interrupted / "logs").mkdir()
        raise command.Interrupted(signal.SIGINT)
    assert not interrupted.exists()


STATE = State(papers=3, parsed=2, references=7, linked=4, unresolved=1, dead_letters=1, seconds=2.0)


def test_progress_without_a_terminal_is_lines() -> None:
    console = Terminal(file=io.StringIO(), width=200)
    display = Display(console)
    with display.progress("1-first") as draw:
        draw(STATE)
    with display.step("a [step]"):
        pass
    text = console.file.getvalue()  # type: ignore[attr-defined]
    counts = "papers 2/3 parsed, references 5/7 settled: 4 linked, 1 unresolved, 1 dead letters, 2 references/s, 2.0 s"
    assert f"1-first: {counts}" in text
    assert "a [step]: 0.0 s" in text


def test_progress_on_a_terminal_is_bars() -> None:
    console = Terminal(file=io.StringIO(), width=120, force_terminal=True)
    with Display(console).progress("papers") as draw:
        draw(STATE)
    assert "5/7" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_files_of_a_source_are_imported_once(tmp_path: Path) -> None:
    lines = '{"DOI": "10.1000/a", "title": ["One thing"], "type": "journal-article"}\n'
    (tmp_path / "crossref").mkdir()
    (tmp_path / "crossref" / "works.jsonl").write_text(lines)
    works = catalogs.imported("crossref", tmp_path / "crossref", tmp_path / "cache")
    assert gzip.decompress(works.read_bytes()).startswith(b'{"id":"doi:10.1000/a"')
    made = works.stat().st_mtime_ns
    assert catalogs.imported("crossref", tmp_path / "crossref", tmp_path / "cache") == works
    assert works.stat().st_mtime_ns == made
    (tmp_path / "crossref" / "works.jsonl").write_text(lines + lines.replace("10.1000/a", "10.1000/b"))
    assert catalogs.imported("crossref", tmp_path / "crossref", tmp_path / "cache") != works


def test_a_source_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalSetupError, match="import crossref"):
        catalogs.imported("crossref", tmp_path / "nowhere", tmp_path / "cache")
    with pytest.raises(ReflinkError, match="--source: name the files"):
        command.chosen(arguments("--source", "crossref"))
