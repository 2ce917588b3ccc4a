"""``make audit``: checks the packages in requirements.lock. Exit code 1 for a fault; it also lists what it could not check.

- Each entry is pinned and has sha256 hashes, no index is named, and all requirements of pyproject.toml are pinned.
- No pinned version has a known vulnerability (pip-audit, if an advisory service responds).
- Each version is on the package index, for this Python, and is not yanked (pip, if the index responds).
- The licences of the required packages are those in docs/dependencies.md.
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

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parent.parent
LOCK: Final = ROOT / "requirements.lock"
PAGE: Final = ROOT / "docs" / "dependencies.md"
FAMILIES: Final = ("MIT", "BSD", "Apache", "MPL", "LGPL", "AGPL", "GPL", "PSF", "ISC", "OLDAP", "OpenLDAP")
_TIMEOUT_S: Final = 180
#: Packages without wheels. pip would download and build them to report them.
_SOURCES: Final = {"pyspark"}
#: The first version of pip that reports yanked versions without downloading them.
_MIN_PIP: Final = (23, 3)


@dataclass
class Findings:
    """``faults`` fail the audit; ``unchecked`` lists checks that were not possible; ``sound`` lists checks that passed."""

    faults: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    sound: list[str] = field(default_factory=list)


def canonical(name: str) -> str:
    """Return the name in the normalised form by which package indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entries(lock: str) -> list[str]:
    """Return the entries of the lock without comments, continuation lines joined."""
    return [
        line.strip() for line in re.sub(r"\\\n", " ", lock).splitlines() if line.strip() and not line.strip().startswith("#")
    ]


def pins(lock: str, findings: Findings) -> dict[str, str]:
    """Return the pinned version by package name; an entry without a pin or a hash is a fault."""
    pinned = {}
    for entry in entries(lock):
        what, *hashes = re.split(r"\s+--hash=", entry)
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)(\s*;.*)?", what.strip())
        if not match:
            findings.faults.append(f"requirements.lock: not pinned: {what.strip()}")
            continue
        pinned[canonical(match[1])] = match[2]
        if not hashes or not all(re.fullmatch(r"sha256:[0-9a-f]{64}", each.strip()) for each in hashes):
            findings.faults.append(f"requirements.lock: {match[1]} has no valid sha256")
    return pinned


def required(pyproject: Mapping[str, Any]) -> Iterator[Requirement]:
    """Yield the requirements in pyproject.toml, including those of the build and of extras."""
    project = pyproject["project"]
    yield from map(Requirement, pyproject["build-system"]["requires"])
    yield from map(Requirement, project["dependencies"])
    for extra in project["optional-dependencies"].values():
        yield from map(Requirement, extra)


def check_pins(pinned: Mapping[str, str], pyproject: Mapping[str, Any], findings: Findings) -> None:
    """Check that each requirement of pyproject.toml is pinned, to a version that satisfies it."""
    for each in required(pyproject):
        version = pinned.get(canonical(each.name))
        if version is None:
            findings.faults.append(f"requirements.lock: {each.name} of pyproject.toml is not pinned: run make lock")
        elif not each.specifier.contains(version, prereleases=True):
            findings.faults.append(f"requirements.lock: {each.name} {version} does not satisfy pyproject.toml: run make lock")
    findings.sound.append(f"{len(pinned)} packages are pinned, with hashes")


def judge_advisories(report: Mapping[str, Any], findings: Findings) -> bool:
    """Add the results of pip-audit to the findings; return False if its service knew none of the packages."""
    audited = [each for each in report["dependencies"] if "vulns" in each]
    if not audited:
        return False
    for each in audited:
        for found in each["vulns"]:
            fixed = ", ".join(found.get("fix_versions") or ()) or "no version yet"
            findings.faults.append(f"{each['name']} {each['version']}: {found['id']}, fixed in {fixed}")
    findings.sound.append(f"{len(audited)} packages were compared with known vulnerabilities")
    if skipped := [each["name"] for each in report["dependencies"] if "vulns" not in each]:
        findings.unchecked.append(f"known vulnerabilities of {', '.join(skipped)}: the advisory service does not know them")
    return True


def check_advisories(findings: Findings) -> None:
    """Query the advisory services of pip-audit, one after the other, until one responds."""
    for service in ("pypi", "osv"):
        command = [sys.executable, "-m", "pip_audit", "-r", str(LOCK), "-s", service, "-f", "json"]
        command += ["--no-deps", "--disable-pip", "--progress-spinner", "off"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
            if judge_advisories(json.loads(done.stdout), findings):
                return
        except (subprocess.TimeoutExpired, ValueError):
            continue
    findings.unchecked.append("KNOWN VULNERABILITIES: no advisory service could be reached, so no version was compared")


def judge_index(report: Mapping[str, Any], findings: Findings) -> None:
    """Add pip's report on the packages that it would install to the findings."""
    for each in report["install"]:
        if each.get("is_yanked"):
            findings.faults.append(f"{each['metadata']['name']} {each['metadata']['version']} was yanked from the index")
    findings.sound.append(f"{len(report['install'])} packages are on the index and not yanked")


def check_index(findings: Findings) -> None:
    """Resolve the lock with pip as for an installation, but without hashes: to compare hashes, pip would download all files."""
    version = tuple(int(part) for part in metadata.version("pip").split(".")[:2])
    if version < _MIN_PIP:
        findings.unchecked.append(f"yanked versions: pip {metadata.version('pip')} cannot report them without downloading")
        return
    with tempfile.TemporaryDirectory() as folder:
        report, unhashed = Path(folder) / "report.json", Path(folder) / "unhashed.txt"
        wheels = [entry for entry in entries(LOCK.read_text()) if entry.partition("==")[0] not in _SOURCES]
        unhashed.write_text("".join(f"{entry.partition('--hash=')[0]}\n" for entry in wheels))
        findings.unchecked.append(f"yanked versions of {', '.join(sorted(_SOURCES))}: packages without wheels")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"]
        try:
            done = subprocess.run(
                [*command, "--only-binary", ":all:", "-r", str(unhashed), "--report", str(report)],
                capture_output=True, text=True, timeout=_TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            findings.unchecked.append(f"yanked versions: the package index did not respond within {_TIMEOUT_S} s")
            return
        if done.returncode == 0:
            judge_index(json.loads(report.read_text()), findings)
        elif match := re.search(r"No matching distribution found for (\S+)", done.stderr):
            # Without a network pip finds no version at all, which is not a fault of the lock.
            (findings.unchecked if "from versions: none" in done.stderr else findings.faults).append(
                f"{match[1]}: not on the package index for this Python, or the index cannot be reached"
            )
        else:
            findings.unchecked.append("yanked versions: the package index could not be reached")


def families(text: str) -> set[str]:
    """Return the families of licences that a text names."""
    found = {name for name in FAMILIES if re.search(rf"(?<![A-Za-z]){name}", text)}
    if re.search(r"\b(Mozilla)\b", text):
        found.add("MPL")
    return {"OLDAP" if name == "OpenLDAP" else name for name in found}


def documented(page: str) -> dict[str, str]:
    """Return the licence by package name, from the tables in docs/dependencies.md."""
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("| ")]
    return {canonical(cells[1].split(" (by")[0]): cells[4] for cells in rows if len(cells) > 6}


def check_licences(page: str, findings: Findings) -> None:
    """Check that each documented package that is installed declares a licence that the page names for it."""
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
    """Run the audit and print its findings; return 1 if there are faults, else 0. ``--offline``: use no service."""
    findings = Findings()
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    check_pins(pins(LOCK.read_text(), findings), pyproject, findings)
    check_licences(PAGE.read_text(), findings)
    if "--offline" in arguments:
        findings.unchecked.append("known vulnerabilities and yanked versions: --offline")
    else:
        check_advisories(findings)
        check_index(findings)
    # The servers' jars are only for the demo and the tests; in production the operator provides the servers.
    findings.unchecked.append("the jars of workers/devkit/*.xml: no advisories of Maven packages are read")
    for title, lines in (("checked", findings.sound), ("NOT CHECKED", findings.unchecked), ("FAULT", findings.faults)):
        for line in lines:
            print(f"audit: {title}: {line}")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
