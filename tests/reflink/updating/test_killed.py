"""An update that is killed at any moment continues, and ends in the works of an undisturbed update."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from reflink.updating import Input, State, export, update
from tests.data import ROOT
from tests.reflink.updating.sources import Lines, write

_FILES, _RECORDS, _KEYS = 12, 1500, 6000
_KILLS = 5
_PROGRAM = """
import sys
from pathlib import Path
from reflink.updating import Input, State, update
from tests.reflink.updating.sources import Lines
with State(Path(sys.argv[1])) as state:
    print("open", flush=True)
    update(state, [Input(Lines(), (Path(sys.argv[2]),))])
"""


def test_killed_updates_end_in_the_works_of_an_undisturbed_one(tmp_path: Path):
    rng = random.Random(7)
    for number in range(1, _FILES + 1):
        records = []
        for _ in range(_RECORDS):
            key = rng.randrange(_KEYS)
            shared = {"doi": f"10.1000/{key // 2}"} if rng.random() < 0.3 else {}
            records.append({"key": f"k{key}", "pmid": str(key + 1), "title": f"Title {key // 2}", **shared})
        write(tmp_path / f"in/{number}.jsonl", *records)
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "state"), str(tmp_path / "in")]
    killed = 0
    while killed < _KILLS:
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            time.sleep(rng.uniform(0.05, 0.6))
            killed += process.poll() is None
            process.kill()
            if process.wait() == 0:
                break
    assert killed >= 2
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    found = []
    for name in ("state", "undisturbed"):
        with State(tmp_path / name) as state:
            update(state, [Input(Lines(), (tmp_path / "in",))])
            found.append(sorted(export(state)))
    assert found[0] == found[1]
    assert len({json.loads(line)["id"] for line in found[0]}) == len(found[0]) > _KEYS / 4
