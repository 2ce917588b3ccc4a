"""The audit of what is installed: what fails it, and that it says what it could not check."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit import Findings, check_pins, documented, families, judge_advisories, judge_index, main, pins

PROJECT = {"dependencies": ["a>=1", "B_c[x]==2"], "optional-dependencies": {"gpu": ["cupy-cuda13x>=1"], "dev": ["d"]}}


def test_the_lock_of_this_checkout_is_whole(capsys: Any):
    assert main(["--offline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("audit: NOT CHECKED: known vulnerabilities") for line in lines)
    assert any("Maven" in line for line in lines)


@pytest.mark.parametrize("line", ["a", "a>=1", "a==1; python_version<'4'", "-e .", "a @ file:///a", "a==1.*"])
def test_what_pins_nothing_is_a_fault(line: str):
    findings = Findings()
    pins(f"# a comment\n\nb==2\n{line}\n", findings)
    assert findings.faults == [f"requirements.lock: not pinned: {line}"]


def test_what_is_asked_for_must_be_pinned():
    findings = Findings()
    check_pins(pins("a==1\nb.c==2\n", findings), PROJECT, findings)
    assert findings.faults == ["requirements.lock: d is asked for by pyproject.toml and not pinned"]


def test_a_vulnerability_is_a_fault_and_what_nobody_knows_is_said():
    findings = Findings()
    known = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}, {"id": "X-2", "fix_versions": []}]}
    assert judge_advisories({"dependencies": [known, {"name": "b", "skip_reason": "not found"}]}, findings)
    assert findings.faults == ["a 1: X-1, mended in 2", "a 1: X-2, mended in no version yet"]
    assert findings.unchecked == ["known vulnerabilities of b: the advisory service does not know them"]


def test_a_service_that_knows_nothing_has_not_answered():
    findings = Findings()
    assert not judge_advisories({"dependencies": [{"name": "a", "skip_reason": "not found"}]}, findings)
    assert findings == Findings()


def test_a_version_that_was_taken_back_is_a_fault():
    findings = Findings()
    versions = [{"metadata": {"name": name, "version": "1"}, "is_yanked": name == "b"} for name in "abc"]
    judge_index({"install": versions}, findings)
    assert findings.faults == ["b 1 was taken back from the index"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MIT", {"MIT"}),
        ("License :: OSI Approved :: BSD License", {"BSD"}),
        ("Apache-2.0 OR BSD-3-Clause", {"Apache", "BSD"}),
        ("LGPL-2.1-or-later", {"LGPL"}),
        ("GPL-3.0", {"GPL"}),
        ("Mozilla Public License 2.0", {"MPL"}),
        ("", set()),
    ],
)
def test_kinds_of_licences(text: str, expected: set[str]):
    assert families(text) == expected


def test_the_page_is_read():
    page = "| package | why | kept by | licence | MB | import ms | alternative |\n|---|---|---|---|--:|--:|---|\n"
    assert documented(page + "| A_b (by c) | x | y | MIT | 1 | 2 | z |\n")["a-b"] == "MIT"
