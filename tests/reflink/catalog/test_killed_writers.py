"""A writer of a snapshot is killed at each of its changes; afterwards there is one complete snapshot or another."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from reflink.catalog import Catalog, Manifest, snapshot
from reflink.errors import SnapshotError
from reflink.storage import flatfiles
from tests.killing import kills
from tests.reflink.catalog.works_of import work

pytestmark = pytest.mark.full


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory if the machine has one, because hundreds of writers flush their files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        yield Path(place)


def catalog_of(title: str) -> Catalog:
    catalog = Catalog.empty()
    catalog.add([work(f"w{n}", title, pmid=str(n + 1)) for n in range(3)])
    return catalog


def title_of(folder: Path) -> str:
    """Return the title of the works of a catalog, after a check of every byte."""
    snapshot.verify(folder)
    catalog = Catalog.open(folder, verify=True)
    titles = {each.title or "" for each in catalog}
    assert (len(catalog), len(titles)) == (3, 1)
    return titles.pop()


def publish(folder: Path, content: str, *, keep_previous: bool = True) -> None:
    """Publish a minimal snapshot."""
    with snapshot.publish(folder, Manifest(), keep_previous=keep_previous) as new:
        (new / "works").write_text(content)


def content_of(folder: Path) -> str:
    snapshot.verify(folder)
    return (folder / "works").read_text()


def restored(folder: Path, template: Path) -> Callable[[], None]:
    """Return a function that restores the content of ``template``, and nothing else, beside it."""

    def restore() -> None:
        for left in folder.parent.iterdir():
            if left != template:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        for each in template.iterdir():
            shutil.copytree(each, folder.with_name(each.name))

    return restore


def test_a_killed_save_leaves_a_complete_catalog(folder: Path) -> None:
    place, template, new = folder / "catalog", folder / "template", catalog_of("new")
    template.mkdir()
    catalog_of("old").save(template / "catalog")
    seen: Counter[str] = Counter()
    for kill in kills(restored(place, template), lambda: new.save(place), tear=False):
        seen[title_of(place)] += 1
        if kill.number % 8 == 0:
            new.save(place)
            assert title_of(place) == "new", kill
    assert seen["old"] > 70, "it was killed at every write, not at a few"
    assert seen["new"] > 0
    assert (title_of(place), title_of(snapshot.previous(place))) == ("new", "old")


@pytest.mark.parametrize("keep_previous", [True, False])
@pytest.mark.parametrize("in_one_step", [True, False])
@pytest.mark.parametrize("there", [(), ("old",), ("older", "old")])
def test_a_killed_publication_leaves_a_complete_snapshot(
    folder: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], in_one_step: bool, keep_previous: bool
) -> None:
    if not in_one_step:
        monkeypatch.setattr(snapshot, "_exchange", lambda first, second: False)
    place, template = folder / "catalog", folder / "template"
    before = snapshot.previous(place)
    template.mkdir()
    for content in there:
        publish(template / "catalog", content)
    seen: Counter[str] = Counter()
    for kill in kills(restored(place, template), lambda: publish(place, "new", keep_previous=keep_previous)):
        try:
            found = content_of(place)
        except SnapshotError:
            found = "none"
        if there and found == "none":
            # Without an atomic exchange of folders there is a moment without a snapshot; the previous one then exists.
            assert (in_one_step, content_of(before)) == (False, "old"), kill
        if before.exists():
            assert content_of(before) in ("old", "older"), kill
        seen[found] += 1
        publish(place, "newer", keep_previous=keep_previous)
        assert content_of(place) == "newer", kill
        names = {path.name for path in folder.iterdir()}
        assert names <= {"template", "catalog", *["catalog.previous"] * keep_previous}, kill
    assert seen["old" if there else "none"] >= 10
    assert seen["new"] > 0
    assert content_of(place) == "new"
    assert before.exists() == (keep_previous and bool(there))
    if before.exists():
        assert content_of(before) == "old"


def test_a_killed_binding_leaves_a_complete_snapshot(folder: Path) -> None:
    place, template = folder / "catalog", folder / "template"
    template.mkdir()
    publish(template / "catalog", "old")

    def bind() -> None:
        snapshot.bind(place, cluster="c", topic="t", offset=7)

    seen: Counter[int] = Counter()
    for _ in kills(restored(place, template), bind):
        assert content_of(place) == "old"
        seen[snapshot.read(place).offset] += 1
        bind()
        assert snapshot.verify(place).offset == 7
    assert seen[0] >= 4
    assert seen[7] >= 1


def test_a_killed_save_of_arrays_is_refused_or_complete(folder: Path) -> None:
    place, wanted = folder / "arrays", {"a": (np.int64, 1), "b": (np.float16, 2)}

    def save(number: int) -> None:
        flatfiles.save(place, "kind", {"n": number}, {"a": np.full(5, number), "b": np.full((3, 2), number, np.float16)})

    def prepare() -> None:
        shutil.rmtree(place, ignore_errors=True)
        save(1)

    refused = 0
    for kill in kills(prepare, lambda: save(2)):
        try:
            about, arrays = flatfiles.load(place, "kind", wanted, verify=True)
        except SnapshotError:
            refused += 1
        else:
            assert {about["n"], *arrays["a"].tolist(), *arrays["b"].ravel().tolist()} in ({1}, {2}), kill
        save(3)
        assert flatfiles.load(place, "kind", wanted, verify=True)[0] == {"n": 3}
    assert refused >= 10
