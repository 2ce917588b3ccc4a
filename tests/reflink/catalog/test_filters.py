"""Filters leave out works by title, language, type and year, and nothing unless they are set."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from reflink.catalog.filters import REASONS, Filters
from reflink.catalog.title_language import title_language
from reflink.entities import Work
from reflink.errors import PackageMissing
from tests.data import shared_data
from tests.schemas.generated import instances

GERMAN = "Über das Wachstum der Fichten in den Wäldern des Nordens"


def work(**fields: Any) -> Work:
    return Work(id="w", **{"title": "On the growth of spruces in the forests of the north", **fields})


@given(instances(Work))
def test_without_settings_every_work_is_kept(each: Work):
    assert Filters().reason(each) is None


@given(instances(Work))
def test_a_reason_has_a_name(each: Work):
    filters = Filters(min_title=5, languages=("en",), types=("book",), year_from=1990, year_to=2000)
    assert filters.reason(each) in (None, *REASONS)


@pytest.mark.parametrize(
    ("settings", "fields", "reason"),
    [
        ({"min_title": 10}, {"title": "123456789"}, "title"),
        ({"min_title": 10}, {"title": "1234567890"}, None),
        ({"min_title": 1}, {"title": None}, "title"),
        ({"min_title": 3}, {"title": " a  "}, "title"),
        ({"languages": ("eng", "German")}, {"language": "de"}, None),
        ({"languages": ("en",)}, {"language": "de"}, "language"),
        ({"languages": ("en",)}, {"language": None, "title": GERMAN}, None),
        ({"types": ("journal-article",)}, {"type": "dataset"}, "type"),
        ({"types": ("journal-article",)}, {"type": None}, None),
        ({"year_from": 1990}, {"year": 1989}, "year"),
        ({"year_from": 1990}, {"year": 1990}, None),
        ({"year_to": 1990}, {"year": 1991}, "year"),
        ({"year_to": 1990}, {"year": 1990}, None),
        ({"year_from": 1990, "year_to": 2000}, {"year": None}, None),
    ],
)
def test_a_filter(settings: dict[str, Any], fields: dict[str, Any], reason: str | None):
    assert Filters(**settings).reason(work(**fields)) == reason


@pytest.mark.parametrize(
    "settings",
    [{"languages": ("klingonese!",)}, {"year_from": 2, "year_to": 1}, {"detect_language": True}, {"min_title": -1}, {"a": 1}],
)
def test_wrong_settings_are_refused(settings: dict[str, Any]):
    with pytest.raises(ValidationError):
        Filters(**settings)


def test_a_language_is_detected_on_request():
    filters = Filters(languages=("en",), detect_language=True)
    assert filters.reason(work(title=GERMAN)) == "language"
    assert filters.reason(work()) is None
    assert filters.reason(work(title=GERMAN, language="en")) is None
    assert filters.reason(work(title="XY-7")) is None


@given(instances(Work))
def test_any_title_is_read(each: Work):
    for title in (each.title or "", "\udc80\x00\uffff", GERMAN * 10_000):
        found = title_language(title)
        assert found is None or found.islower()


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pycld2", None)
    with pytest.raises(PackageMissing, match="extra languages"):
        Filters(languages=("en",), detect_language=True).reason(work())


def test_few_english_titles_of_pubmed_are_lost():
    from benchmarks.languages import measured, sampled, titles

    found = measured("pycld2", title_language, sampled(titles(shared_data() / "pubmed" / "works.jsonl.gz"), 3000))
    assert found.english_lost < 0.003
    assert found.other_kept < 0.2
