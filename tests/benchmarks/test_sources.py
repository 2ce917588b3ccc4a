import pytest

from benchmarks.sources.__main__ import main
from benchmarks.sources.generate import write
from benchmarks.sources.moulds import MOULDS
from benchmarks.sources.readers import SOURCES
from reflink.sources.source import SourceRecord


@pytest.mark.parametrize("name", MOULDS)
def test_made_up_records_are_read_without_a_fault(name, tmp_path):
    path = write(name, tmp_path, 300)
    found = [each for file in SOURCES[name].files([path]) for each in SOURCES[name].read(file)]
    assert len(found) == 300
    assert all(isinstance(each, SourceRecord) and each.work and each.work.title and each.work.authors for each in found)
    assert len({each.key for each in found}) == 300


def test_the_command_measures_a_reader(capsys, tmp_path):
    assert main(
        ["readers", "--source", "s2", "--records", "500", "--rounds", "1", "--json", str(tmp_path / "figures.json")]
    ) in (0, 1)
    assert "reader=" in capsys.readouterr().out
    assert "records_per_second" in (tmp_path / "figures.json").read_text()
