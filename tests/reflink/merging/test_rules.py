"""Rules are read from a TOML file, and a fault in it is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflink.errors import BadRecord
from reflink.merging import Rules, read_rules, settle
from tests.reflink.merging.records import TITLE, article


def test_a_file_sets_what_it_names(tmp_path: Path):
    path = tmp_path / "rules.toml"
    path.write_text('min_probability = 0.9\nstatus = ["withdrawn"]\n[fields]\ntitle = ["crossref", "medline"]\n')
    rules = read_rules(path)
    assert (rules.min_probability, rules.status, rules.order) == (0.9, ("withdrawn",), Rules().order)
    records = [article("medline", "1", doi="10.1/a"), article("crossref", "c", doi="10.1/a", title=f"{TITLE}!", venue="Wood")]
    (one,), _ = settle(records, rules=rules)
    assert (one.work.title, one.work.venue) == (f"{TITLE}!", "Forests")
    assert settle(records)[0][0].work.title == TITLE


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("orders = []", "orders: Extra inputs"),
        ("order = 5", "order: "),
        ("[fields]\nids = []", "fields: ids: not one of title"),
        ('[own]\nmedline = "pii"', "own: pii: not one of doi"),
        ("min_probability = 0.2", "min_probability: "),
        ("a = [", "not TOML"),
        ("\udcff", "not TOML"),
    ],
)
def test_a_fault_is_one_line_with_the_file(tmp_path: Path, text: str, fault: str):
    path = tmp_path / "rules.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadRecord) as error:
        read_rules(path)
    assert str(error.value).startswith(f"{path}: ")
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


def test_each_rule_is_described():
    assert all(field.description for field in Rules.model_fields.values())
