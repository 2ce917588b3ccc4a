"""Entities survive JSON without loss, and bad input is reported with its field."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.entities import ID_KINDS, Candidate, Entity, Ids, Link, Paper, Reference, Related, Relation, Work
from reflink.errors import BadRecord
from reflink.linking.policy import Found, Open
from tests.schemas.generated import dicts_in, instances, new_fields

ENTITIES: list[type[Entity]] = [Ids, Reference, Work, Paper, Candidate, Link, Found, Open]
ANY = st.sampled_from(ENTITIES).flatmap(instances)


@given(ANY)
def test_an_entity_survives_json(entity: Entity):
    model = type(entity)
    assert model.from_json(entity.to_json()) == entity
    assert model.from_json(entity.to_json().decode()) == entity
    assert model.from_dict(entity.to_dict()) == entity
    assert json.loads(entity.to_json()) == entity.to_dict()


@given(ANY)
def test_default_values_are_omitted_from_json(entity: Entity):
    document = entity.to_dict()
    for name, info in type(entity).model_fields.items():
        assert (name in document) == (info.is_required() or getattr(entity, name) != info.default)


@given(ANY, st.data())
def test_unknown_fields_are_kept_at_every_depth(entity: Entity, data: st.DataObject):
    document = entity.to_dict()
    for each in dicts_in(document):
        each.update(data.draw(new_fields))
    assert json.loads(type(entity).from_json(json.dumps(document)).to_json()) == document


@given(ANY)
def test_equal_entities_have_equal_hashes(entity: Entity):
    assert hash(entity) == hash(type(entity).from_json(entity.to_json()))


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        (Work, "{}", "Work: id: Field required"),
        (Work, "[]", "Work: value: "),
        (Work, "", "Work: value: "),
        (Work, '{"id": "a", "year": "MMVII"}', "Work: year: "),
        (Work, '{"id": "a", "ids": {"doi": 5}}', "Work: ids.doi: "),
        (Reference, '{"id": "a"}', r"Reference: citing: Field required \(and 1 more\)"),
        (Link, '{"reference": "a", "citing": "b", "cited": null, "method": "guess"}', "Link: method: Input should be"),
        (Paper, '{"id": "a", "references": [{"id": "r", "citing": "a", "position": "x"}]}', "Paper: references.0.position: "),
    ],
)
def test_bad_input_is_reported_by_field_in_one_line_without_its_value(model: type[Entity], text: str, message: str):
    with pytest.raises(BadRecord, match=message) as error:
        model.from_json(text)
    assert "\n" not in str(error.value)
    assert "MMVII" not in str(error.value)


def test_a_dictionary_is_checked_like_json():
    with pytest.raises(BadRecord, match="Work: id: "):
        Work.from_dict({"id": None})


def test_entities_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Work(id="a").title = "b"  # type: ignore[misc]


def test_keys_of_ids_have_a_fixed_order():
    ids = Ids(arxiv="0704.0001", pmcid="PMC1", pmid="1", doi="10.1/a")
    assert ids.keys() == ("doi:10.1/a", "pmid:1", "pmcid:PMC1", "arxiv:0704.0001")
    assert tuple(key.split(":")[0] for key in ids.keys()) == ID_KINDS  # noqa: SIM118
    assert Ids(pmid="1", doi="").keys() == ("pmid:1",)
    assert Ids().keys() == ()


def test_the_query_is_the_citation_without_identifiers():
    reference = Reference(id="a", citing="b", position=1, raw_text="Doe. First. doi:10.1/a", raw_noid="Doe. First.")
    assert reference.raw_query == "Doe. First."
    assert Reference(id="a", citing="b", position=1, raw_text="Doe.").raw_query == "Doe."
    assert Reference(id="a", citing="b", position=1, raw_text="10.1/a", raw_noid="").raw_query == ""


@given(instances(Paper))
def test_the_work_of_a_paper_has_all_shared_fields(paper: Paper):
    work = paper.work()
    for name in set(Work.model_fields) & set(Paper.model_fields):
        assert getattr(work, name) == getattr(paper, name), name
    assert set(Work.model_fields) - set(Paper.model_fields) == {"online_year", "type", "status"}
    assert work.last_names == paper.authors


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        ((), None),
        (("retracted-by",), "retracted"),
        (("concern-by",), "concern"),
        (("concern-by", "corrected-by", "retracted-by"), "retracted"),
        (("corrected-by", "retracts", "concerns", "has-version"), None),
    ],
)
def test_the_status_of_a_paper_follows_from_its_notices(kinds: tuple[Relation, ...], status: str | None):
    paper = Paper(id="doi:10.1/a", related=tuple(Related(kind=kind, ids=Ids()) for kind in kinds))
    assert paper.work().status == status
