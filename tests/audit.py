"""``make audit``: whether what requirements.lock pins is sound. Exit code 1 when it is not; what could not be checked is said.

- Everything is pinned, and everything that pyproject.toml asks for is among it.
- No pinned version has a known vulnerability (pip-audit, where an advisory service answers).
- Each is on the package index, for this Python, and was not taken back (pip, where the index answers).
- The licences of what is asked for are those of docs/dependencies.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
LOCK: Final = ROOT / "requirements.lock"
PAGE: Final = ROOT / "docs" / "dependencies.md"
#: Not locked: they need a GPU's libraries.
UNLOCKED: Final = frozenset({"cupy-cuda13x", "numba-cuda"})
FAMILIES: Final = ("MIT", "BSD", "Apache", "MPL", "LGPL", "AGPL", "GPL", "PSF", "ISC", "OLDAP", "OpenLDAP")
_TIMEOUT_S: Final = 180
#: The first that says which versions were taken back without fetching them.
_LEAST_PIP: Final = (23, 3)


@dataclass
class Findings:
    """``faults`` fail the audit; ``unchecked`` is what nobody could be asked about; ``sound`` is what was checked."""

    faults: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    sound: list[str] = field(default_factory=list)


def canonical(name: str) -> str:
    """As package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str, findings: Findings) -> dict[str, str]:
    """Name to version, of every line; what pins nothing is a fault."""
    pinned = {}
    for line in lock.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if match := re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)", line.strip()):
            pinned[canonical(match[1])] = match[2]
        else:
            findings.faults.append(f"requirements.lock: not pinned: {line.strip()}")
    return pinned


def required(project: Mapping[str, Any]) -> Iterator[str]:
    """Names that pyproject.toml asks for, extras included."""
    for each in (*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)):
        yield canonical(re.split(r"[\s<>=!~\[;]", each)[0])


def check_pins(pinned: Mapping[str, str], project: Mapping[str, Any], findings: Findings) -> None:
    """Everything asked for is pinned."""
    missing = sorted(set(required(project)) - set(pinned) - UNLOCKED)
    findings.faults += [f"requirements.lock: {name} is asked for by pyproject.toml and not pinned" for name in missing]
    findings.sound.append(f"{len(pinned)} packages are pinned")


def judge_advisories(report: Mapping[str, Any], findings: Findings) -> bool:
    """Takes in what pip-audit says. False when its service knew none of the packages, which is no answer."""
    audited = [each for each in report["dependencies"] if "vulns" in each]
    if not audited:
        return False
    for each in audited:
        for found in each["vulns"]:
            fixed = ", ".join(found.get("fix_versions") or ()) or "no version yet"
            findings.faults.append(f"{each['name']} {each['version']}: {found['id']}, mended in {fixed}")
    findings.sound.append(f"{len(audited)} packages were compared with known vulnerabilities")
    if skipped := [each["name"] for each in report["dependencies"] if "vulns" not in each]:
        findings.unchecked.append(f"known vulnerabilities of {', '.join(skipped)}: the advisory service does not know them")
    return True


def check_advisories(findings: Findings) -> None:
    """Asks the advisory services that pip-audit knows, one after the other, until one answers."""
    for service in ("pypi", "osv"):
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "-r",
            str(LOCK),
            "-s",
            service,
            "-f",
            "json",
            "--no-deps",
            "--disable-pip",
        ]
        try:
            done = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=_TIMEOUT_S)
            if judge_advisories(json.loads(done.stdout), findings):
                return
        except (subprocess.TimeoutExpired, ValueError):
            continue
    findings.unchecked.append("KNOWN VULNERABILITIES: no advisory service could be reached, so nothing was compared")


def judge_index(report: Mapping[str, Any], findings: Findings) -> None:
    """Takes in pip's report of what it would install."""
    for each in report["install"]:
        if each.get("is_yanked"):
            findings.faults.append(f"{each['metadata']['name']} {each['metadata']['version']} was taken back from the index")
    findings.sound.append(f"{len(report['install'])} packages are on the index and were not taken back")


def check_index(findings: Findings) -> None:
    """Has pip resolve the lock as it would install it, without fetching anything but descriptions."""
    version = tuple(int(part) for part in metadata.version("pip").split(".")[:2])
    if version < _LEAST_PIP:
        findings.unchecked.append(f"versions that were taken back: pip {metadata.version('pip')} cannot tell without fetching")
        return
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"]
        try:
            done = subprocess.run(
                [*command, "--only-binary", ":all:", "-r", str(LOCK), "--report", str(report)],
                capture_output=True, text=True, timeout=_TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            findings.unchecked.append(f"versions that were taken back: the package index did not answer within {_TIMEOUT_S} s")
            return
        if done.returncode == 0:
            judge_index(json.loads(report.read_text()), findings)
        elif match := re.search(r"No matching distribution found for (\S+)", done.stderr):
            # Offline nothing is found at all, and the lock is no worse for it.
            (findings.unchecked if "from versions: none" in done.stderr else findings.faults).append(
                f"{match[1]}: not on the package index for this Python, or the index cannot be reached"
            )
        else:
            findings.unchecked.append("versions that were taken back: the package index could not be asked")


def families(text: str) -> set[str]:
    """The kinds of licence that a text names."""
    found = {name for name in FAMILIES if re.search(rf"(?<![A-Za-z]){name}", text)}
    if re.search(r"\b(Mozilla)\b", text):
        found.add("MPL")
    return {"OLDAP" if name == "OpenLDAP" else name for name in found}


def documented(page: str) -> dict[str, str]:
    """Package to licence, of the tables of docs/dependencies.md."""
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("| ")]
    return {canonical(cells[1].split(" (by")[0]): cells[4] for cells in rows if len(cells) > 6}


def check_licences(page: str, findings: Findings) -> None:
    """Of what is documented and installed here: the licence it declares is one that the page names."""
    compared = 0
    for name, licence in documented(page).items():
        try:
            found = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        declared = " ".join(
            [found.get("License-Expression") or "", (found.get("License") or "")[:80]]
            + [each for each in found.get_all("Classifier") or () if each.startswith("License")]
        )
        if (kinds := families(declared)) and not kinds & families(licence):
            findings.faults.append(f"docs/dependencies.md: {name} is under {licence} and declares {', '.join(sorted(kinds))}")
        compared += bool(kinds)
    findings.sound.append(f"the licences of {compared} packages are as documented")


def main(arguments: Sequence[str] = ()) -> int:
    """Prints what was found. ``--offline``: asks nobody."""
    findings = Findings()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    check_pins(pins(LOCK.read_text(), findings), project, findings)
    check_licences(PAGE.read_text(), findings)
    if "--offline" in arguments:
        findings.unchecked.append("known vulnerabilities and versions that were taken back: --offline")
    else:
        check_advisories(findings)
        check_index(findings)
    # The broker's jars are for the demo and the tests; in production the broker is the operator's.
    findings.unchecked.append("the jars of workers/local/pom.xml: no advisories of Maven packages are read")
    for title, lines in (("checked", findings.sound), ("NOT CHECKED", findings.unchecked), ("FAULT", findings.faults)):
        for line in lines:
            print(f"audit: {title}: {line}")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
