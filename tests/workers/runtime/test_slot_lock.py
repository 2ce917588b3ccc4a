"""One process per slot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data import ROOT
from workers.errors import SlotTaken, StoreFailed
from workers.runtime.crash_journal import Journal
from workers.runtime.slot_lock import Slot


def test_a_slot_in_use_is_refused_and_its_holder_named(tmp_path: Path):
    with Slot(tmp_path / "state", "linker-a"), pytest.raises(SlotTaken, match=str(os.getpid())) as error:
        Slot(tmp_path / "state", "linker-a").__enter__()
    assert "REFLINK_SLOT" in str(error.value)
    assert error.value.exit_code == 4


def test_other_slots_are_free(tmp_path: Path):
    with Slot(tmp_path, "linker-a"), Slot(tmp_path, "linker-b"):
        pass


def test_a_slot_is_free_again_afterwards_and_after_a_failure(tmp_path: Path):
    with pytest.raises(RuntimeError), Slot(tmp_path, "a"):
        raise RuntimeError
    with Slot(tmp_path, "a") as slot:
        assert slot.path.read_text() == str(os.getpid())


def test_a_killed_process_frees_its_slot(tmp_path: Path):
    script = f"""
from pathlib import Path
from workers.runtime.slot_lock import Slot
with Slot(Path({str(tmp_path)!r}), "a"):
    print("held", flush=True)
    input()
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(SlotTaken, match=str(process.pid)):
        Slot(tmp_path, "a").__enter__()
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Slot(tmp_path, "a"):
        pass


def test_a_folder_that_takes_no_file_is_named(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreFailed, match="REFLINK_STATE_DIR") as error, Slot(blocked / "state", "a"):
        pass
    assert str(blocked) in str(error.value)
    with pytest.raises(StoreFailed, match="REFLINK_STATE_DIR"), Journal(blocked / "state", "a", deaths=3):
        pass
