"""The audit of the pinned packages: its faults, and its list of checks that were not possible."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit import Findings, check_pins, documented, families, judge_advisories, judge_index, main, pins

HASH = f" --hash=sha256:{'0' * 64}"
PYPROJECT = {
    "build-system": {"requires": ["builder==1"]},
    "project": {"dependencies": ["a>=1,<2", "B_c[x]==2"], "optional-dependencies": {"gpu": ["d>=1"]}},
}


def test_the_lock_of_this_checkout_is_complete(capsys: Any):
    assert main(["--offline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("audit: NOT CHECKED: known vulnerabilities") for line in lines)
    assert any("Maven" in line for line in lines)


@pytest.mark.parametrize(
    "line", ["a", "a>=1", "-e .", "a @ file:///a", "a==1.*", "--extra-index-url https://example.org/simple", "-r other.txt"]
)
def test_an_entry_without_a_pin_is_a_fault(line: str):
    findings = Findings()
    assert pins(f"# a comment\n\nb==2{HASH}\n{line}\n", findings) == {"b": "2"}
    assert findings.faults == [f"requirements.lock: not pinned: {line}"]


@pytest.mark.parametrize("hashes", ["", " --hash=md5:0", HASH + " --hash=sha256:0", HASH[:-1]])
def test_a_pin_without_hashes_is_a_fault(hashes: str):
    findings = Findings()
    assert pins(f"b==2 ; python_version < '4' \\\n   {HASH} \\\n   {HASH}\n    # via c\na==1{hashes}\n", findings) == {
        "a": "1",
        "b": "2",
    }
    assert findings.faults == ["requirements.lock: a has no valid sha256"]


@pytest.mark.parametrize(("pinned", "faults"), [
    ({"a": "1.5", "b-c": "2", "builder": "1", "d": "7"}, []),
    ({"a": "1.5", "b-c": "2", "builder": "1"}, ["d of pyproject.toml is not pinned"]),
    ({"a": "1.5", "b-c": "2", "d": "7"}, ["builder of pyproject.toml is not pinned"]),
    ({"a": "2.0", "b-c": "2", "builder": "1", "d": "7"}, ["a 2.0 does not satisfy pyproject.toml"]),
])  # fmt: skip
def test_every_requirement_must_be_pinned(pinned: dict[str, str], faults: list[str]):
    findings = Findings()
    check_pins(pinned, PYPROJECT, findings)
    assert findings.faults == [f"requirements.lock: {fault}: run make lock" for fault in faults]


def test_a_vulnerability_is_a_fault_and_an_unknown_package_is_listed():
    findings = Findings()
    known = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}, {"id": "X-2", "fix_versions": []}]}
    assert judge_advisories({"dependencies": [known, {"name": "b", "skip_reason": "not found"}]}, findings)
    assert findings.faults == ["a 1: X-1, fixed in 2", "a 1: X-2, fixed in no version yet"]
    assert findings.unchecked == ["known vulnerabilities of b: the advisory service does not know them"]


def test_a_service_without_any_of_the_packages_does_not_count():
    findings = Findings()
    assert not judge_advisories({"dependencies": [{"name": "a", "skip_reason": "not found"}]}, findings)
    assert findings == Findings()


def test_a_yanked_version_is_a_fault():
    findings = Findings()
    versions = [{"metadata": {"name": name, "version": "1"}, "is_yanked": name == "b"} for name in "abc"]
    judge_index({"install": versions}, findings)
    assert findings.faults == ["b 1 was yanked from the index"]


@pytest.mark.parametrize(("text", "expected"), [
    ("MIT", {"MIT"}),
    ("License :: OSI Approved :: BSD License", {"BSD"}),
    ("Apache-2.0 OR BSD-3-Clause", {"Apache", "BSD"}),
    ("LGPL-2.1-or-later", {"LGPL"}),
    ("GPL-3.0", {"GPL"}),
    ("Mozilla Public License 2.0", {"MPL"}),
    ("", set()),
])  # fmt: skip
def test_families_of_licences(text: str, expected: set[str]):
    assert families(text) == expected


def test_the_licences_of_the_page():
    page = "| package | why | kept by | licence | MB | import ms | alternative |\n|---|---|---|---|--:|--:|---|\n"
    assert documented(page + "| A_b (by c) | x | y | MIT | 1 | 2 | z |\n")["a-b"] == "MIT"
