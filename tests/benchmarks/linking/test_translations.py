"""The benchmark of translated titles on made-up files of PubMed."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest

from benchmarks.linking.translations import FORMS, main
from tests.reflink.sources.medline.made_up import ARTICLE, document


def test_a_work_is_found_by_its_translated_title(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "pubmed21n0001.xml.gz").write_bytes(gzip.compress(document(ARTICLE)))
    assert main(["--files", str(tmp_path)]) == 0
    found = orjson.loads(capsys.readouterr().out)
    assert (found["works"], found["translated"], found["citations"]) == (1, 1, 1)
    for form in FORMS:
        assert found["with"][form] == {"right": 1, "wrong": 0, "false": 0}
    assert found["without"]["text, no volume or page"]["right"] == 0
