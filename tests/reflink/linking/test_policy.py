"""The fingerprint of the policy, which each link carries."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from reflink import shipped
from reflink.linking.policy import Policy

OTHER: dict[str, Any] = {
    "threshold": 0.5, "semantic_mode": "TA", "lexical_mode": "TVL", "sure": 0.9, "refuse": 0.01, "accept": 0.6, "candidates": 6,
    "lexical_floor": 0.2, "absent": 0.4, "versions": "link", "precision": 0.99, "first": "trigrams",
}  # fmt: skip
IDLE = {
    "paper": {"sure", "refuse", "accept", "precision", "lexical_floor", "absent", "versions", "first"},
    "production": {"threshold"},
}  # fmt: skip


def test_the_fingerprint_is_the_same_on_all_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics keep fingerprints for years, so a change here changes the contract."""
    monkeypatch.setitem(shipped.SHA256, "verdict/model.json", "0" * 64)
    assert Policy().fingerprint() == "bcf22c28"
    assert Policy(profile="paper").fingerprint() == "edd60af2"


@pytest.mark.parametrize("profile", ["paper", "production"])
def test_the_fingerprint_changes_with_each_setting_that_decides(profile: Any) -> None:
    policy = Policy(profile=profile)
    assert set(OTHER) == {field.name for field in fields(Policy)} - {"profile"}, "a field that this test does not know"
    for name, value in OTHER.items():
        same = replace(policy, **{name: value}).fingerprint() == policy.fingerprint()
        assert same == (name in IDLE[profile]), name


def test_profiles_have_different_fingerprints() -> None:
    assert Policy().fingerprint() != Policy(profile="paper").fingerprint()


def test_another_verdict_changes_the_fingerprint_in_production_only(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [Policy(profile=profile).fingerprint() for profile in ("production", "paper")]
    monkeypatch.setitem(shipped.SHA256, "verdict/model.json", "0" * 64)
    after = [Policy(profile=profile).fingerprint() for profile in ("production", "paper")]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_equal_numbers_have_equal_fingerprints() -> None:
    assert Policy(accept=1).fingerprint() == Policy(accept=1.0).fingerprint()
