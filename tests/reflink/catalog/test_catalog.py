from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflink.catalog import Catalog
from reflink.entities import Ids, Work
from reflink.errors import SnapshotError
from reflink.journals.table import Journal, Journals
from reflink.text import SEP, work_text
from tests.profiles import examples
from tests.reflink.catalog.works_of import DIM, FakeEncoder, some_works, work, work_ids


def empty() -> Catalog:
    return Catalog.empty(dim=DIM, model=FakeEncoder.name, precision=FakeEncoder.precision)


def state(catalog: Catalog) -> dict[str, object]:
    """Return everything a reader can see."""
    works = {each.id: each for each in catalog}
    return {
        "works": works,
        "canonical": {work_id: catalog.canonical(work_id) for work_id in works},
        "vectors": {work_id: catalog.vectors.vectors([work_id]).tobytes() for work_id in works if work_id in catalog.vectors},
        "sizes": (len(catalog), len(catalog.vectors), len(catalog.trigrams)),
    }


def test_lookup_returns_canonical_ids_of_works_with_any_identifier() -> None:
    catalog = empty()
    catalog.add_encoded([work("b", doi="10.1/x", pmid="1"), work("a", pmid="1"), work("c", pmid="3")], FakeEncoder())
    assert catalog.lookup(Ids(doi="10.1/x")) == ("a",)
    assert catalog.lookup(Ids(doi="10.1/x", pmid="3")) == ("a", "c")
    assert catalog.lookup(Ids(pmid="9")) == ()
    assert catalog.lookup(Ids()) == ()


def test_only_new_texts_are_encoded() -> None:
    catalog, encoder = empty(), FakeEncoder()
    first = [work("a", "One"), work("b", "Two")]
    assert catalog.add_encoded(first, encoder) == 2
    assert catalog.changed(first) == []
    assert catalog.add_encoded(first, encoder) == 0
    same_text = first[0].model_copy(update={"volume": "7"})
    assert catalog.changed([same_text]) == [same_text]
    assert catalog.unencoded([same_text]) == []
    assert catalog.add([same_text]) == 1
    assert catalog.get("a") == same_text
    assert len(encoder.encoded) == 2
    assert catalog.add_encoded([work("a", "Three"), work("b", "Two")], encoder) == 1
    assert encoder.encoded[2:] == [work_text(work("a", "Three"), "TVL", lexical=False)]


def test_the_last_work_of_an_id_counts() -> None:
    catalog, encoder = empty(), FakeEncoder()
    texts = [work("a", "One"), work("a", "Two")]
    vectors = encoder.encode([work_text(each, "TVL", lexical=False) for each in texts])
    assert catalog.add(texts, vectors) == 1
    assert catalog.get("a") == texts[1]
    np.testing.assert_allclose(catalog.vectors.vectors(["a"])[0], vectors[1], atol=1e-3)


def test_missing_or_misshapen_vectors_change_nothing() -> None:
    catalog = empty()
    with pytest.raises(ValueError, match="need vectors"):
        catalog.add([work("a")])
    with pytest.raises(ValueError, match="shape"):
        catalog.add([work("a")], np.ones((1, DIM + 1)))
    assert len(catalog) == len(catalog.vectors) == len(catalog.trigrams) == 0


def test_a_removed_work_leaves_the_indexes() -> None:
    catalog, encoder = empty(), FakeEncoder()
    catalog.add_encoded([work("a", "One thing"), work("b", "Another thing")], encoder)
    assert catalog.remove(["a", "a", "unknown"]) == 1
    assert catalog.get("a") is None
    assert state(catalog)["sizes"] == (1, 1, 1)
    assert catalog.add_encoded([work("a", "One thing")], encoder) == 1
    assert state(catalog)["sizes"] == (2, 2, 2)


Changes = list[tuple[str, Any]]
changes = st.lists(
    st.lists(some_works, max_size=5).map(lambda works: ("add", works))
    | st.lists(work_ids, max_size=3).map(lambda ids: ("remove", ids)),
    max_size=5,
)


@settings(max_examples=examples(15))
@given(before=changes, after=changes)
def test_a_snapshot_equals_the_catalog(tmp_path_factory: pytest.TempPathFactory, before: Changes, after: Changes) -> None:
    folder, encoder = tmp_path_factory.mktemp("catalog") / "snapshot", FakeEncoder()
    alive = empty()

    def apply(changes: Changes, *catalogs: Catalog) -> None:
        for kind, what in changes:
            for catalog in catalogs:
                _ = catalog.add_encoded(what, encoder) if kind == "add" else catalog.remove(what)

    apply(before, alive)
    alive.save(folder)
    opened = Catalog.open(folder)
    assert state(opened) == state(alive)
    apply(after, alive, opened)
    assert state(opened) == state(alive)
    opened.save(folder)  # over the files that it has mapped
    assert state(opened) == state(alive)
    assert state(Catalog.open(folder)) == state(alive)


def test_a_snapshot_has_its_cluster_topic_and_offset(tmp_path: Path) -> None:
    catalog = empty()
    catalog.add_encoded([work("a")], FakeEncoder())
    catalog.offset = 41
    manifest = catalog.save(tmp_path / "s", cluster="k1", topic="catalog")
    assert (manifest.cluster, manifest.topic, manifest.offset) == ("k1", "catalog", 41)
    opened = Catalog.open(tmp_path / "s", vectors=False, trigrams=False)
    assert opened.offset == 41
    assert opened.vectors is None
    assert opened.trigrams is None
    assert catalog.save(tmp_path / "s", offset=50).offset == 50


def test_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    catalog = empty()
    catalog.save(tmp_path / "s")
    opened = Catalog.open(tmp_path / "s")
    right: dict[str, Any] = {"model": "fake@1", "mode": "TVL", "precision": "fp32", "separator": SEP}
    opened.check_model(**right)
    for what, wrong in {"model": "fake@2", "mode": "T", "precision": "bf16", "separator": " "}.items():
        with pytest.raises(SnapshotError, match=rf"^the catalog's vectors are of {what} .*, not [^;]*: build it again$"):
            opened.check_model(**right | {what: wrong})
    with pytest.raises(
        SnapshotError, match=r"vectors are of model fake@1, not fake@2; of separator ' \[SEP\] ', not ' ': build"
    ):
        opened.check_model(**right | {"model": "fake@2", "separator": " "})
    with pytest.raises(SnapshotError, match="no vectors"):
        Catalog.open(tmp_path / "s", vectors=False).check_model("fake@1", "TVL", "fp32", SEP)


def test_a_catalog_joins_texts_by_the_models_separator_and_a_snapshot_keeps_it(tmp_path: Path) -> None:
    encoder = FakeEncoder(" ~ ")
    catalog = Catalog.empty(dim=DIM, model=FakeEncoder.name, precision="fp32", separator=encoder.separator)
    catalog.add_encoded([work("a")], encoder)
    assert encoder.encoded == ["a title ~ cell ~ meyer"]
    catalog.add_encoded([Work.from_dict({**work("a").to_dict(), "pages": 7})], encoder)
    assert len(encoder.encoded) == 1
    catalog.save(tmp_path / "s")
    opened = Catalog.open(tmp_path / "s")
    assert opened.separator == " ~ "
    opened.check_model("fake@1", "TVL", "fp32", " ~ ")
    opened.add_encoded([work("b", "Other")], encoder)
    assert encoder.encoded[1:] == ["other ~ cell ~ meyer"]


def test_extra_fields_and_status_survive(tmp_path: Path) -> None:
    retracted = Work.from_dict({"id": "a", "title": "T", "status": "retracted", "title_group": "g"})
    catalog = Catalog.empty()
    catalog.add([retracted])
    catalog.save(tmp_path / "s")
    assert Catalog.open(tmp_path / "s").get("a") == retracted


def test_importing_reflink_loads_no_index_and_no_model() -> None:
    code = "import reflink, sys; reflink.Catalog; print([m for m in ('torch', 'numba', 'transformers') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_table_of_journals_is_optional_and_stays(tmp_path: Path) -> None:
    catalog = Catalog.empty()
    catalog.add([Work(id="a", venue="Journal of Examples", venue_abbreviations=("J Ex",))])
    assert catalog.save(tmp_path / "none").journals is None
    assert Catalog.open(tmp_path / "none").journals is None
    catalog.journals = Journals.of([Journal(names=("Journal of Examples", "J Ex"))])
    assert catalog.save(tmp_path / "first").journals == 1
    opened = Catalog.open(tmp_path / "first")
    assert opened.journals is not None
    assert opened.journals.are_one("J. Ex.", "Journal of Examples")
    opened.add([Work(id="b", venue="Annals of Proof", venue_abbreviations=("Ann Proof",))])
    assert opened.save(tmp_path / "second").journals == 1
