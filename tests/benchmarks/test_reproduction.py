"""The runner of the papers' measurements: which steps it runs, what it keeps, and what a failure does."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import reproduction
from benchmarks.reproduction import Step, chosen, main, run, steps


def program(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_a_finished_step_is_not_run_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    step = Step("003-links", program(f"open({str(count)!r}, 'a').write('x'); print('figures')"))
    assert run(step, tmp_path)
    assert run(step, tmp_path)
    assert count.read_text() == "x"
    assert (tmp_path / "003-links.txt").read_text() == "figures\n"


def test_a_failed_step_is_run_again_and_its_output_is_kept_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    step = Step("003-links", program("import sys; print('so far'); sys.exit('damaged')"))
    assert not run(step, tmp_path)
    assert "003-links ended with 1" in capfd.readouterr().err
    assert (tmp_path / "003-links.partial").read_text().splitlines() == ["so far", "damaged"]
    assert not (tmp_path / "003-links.txt").exists()


def test_code_1_is_a_success_only_of_a_command_that_reads_all_articles(tmp_path: Path) -> None:
    some = program("import sys; print('a link'); sys.exit(1)")
    assert run(Step("003-linked", some, str(tmp_path / "links.jsonl")), tmp_path)
    assert (tmp_path / "links.jsonl").read_text() == "a link\n"
    assert not run(Step("004-parsed", program("import sys; sys.exit(2)"), str(tmp_path / "papers.jsonl")), tmp_path)


def test_the_command_goes_on_after_a_failure_and_ends_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = program("import sys; sys.exit(2)")
    made = [
        Step("003-a", fails),
        Step("003-b", program("")),
        Step("003-d", program(""), needs=("003-a",)),
        Step("004-c", fails),
    ]
    monkeypatch.setattr(reproduction, "steps", lambda *_: made)
    monkeypatch.setattr(reproduction, "shared_data", lambda: tmp_path)
    monkeypatch.setattr(reproduction, "jats_folder", lambda: tmp_path)
    assert main(["--out", str(tmp_path), "--only", "003"]) == 1
    assert (tmp_path / "003-b.txt").exists()
    assert not (tmp_path / "003-d.txt").exists(), "it needs a step that failed"
    assert not (tmp_path / "004-c.partial").exists(), "not asked for"


def test_a_paper_runs_what_its_steps_need_of_other_papers() -> None:
    made = [Step("000-a", ()), Step("003-b", ()), Step("003-c", (), needs=("003-b",)), Step("004-d", (), needs=("003-c",))]
    assert [step.name for step in chosen(made, ["004"])] == ["003-b", "003-c", "004-d"]
    assert [step.name for step in chosen(made, ["000", "003"])] == ["000-a", "003-b", "003-c"]


def test_every_step_has_a_name_of_its_own_and_a_module_that_exists(tmp_path: Path) -> None:
    made = list(steps(tmp_path / "data", tmp_path / "jats", tmp_path / "out"))
    assert len({step.name for step in made}) == len(made)
    for _, option, module, *_ in (step.command for step in made):
        assert option == "-m"
        spec = find_spec(module)
        assert spec, module
        assert not spec.submodule_search_locations or find_spec(f"{module}.__main__"), f"{module} has no command"


@pytest.mark.parametrize("paper", ["000", "001", "002", "003", "004"])
def test_the_steps_of_one_paper_write_all_files_that_they_read(paper: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = chosen(list(steps(tmp_path / "data", tmp_path / "jats", out)), [paper])
    assert any(step.name.startswith(paper) for step in given)
    named: set[str] = set()
    for step in given:
        for argument in step.command:
            if argument.startswith(str(out)) and argument not in named:
                before = step.command[step.command.index(argument) - 1]
                assert before in ("--json", "--out", "--report", "--plot"), f"{step.name} reads {argument}, which no step wrote"
        named |= {*step.command, *([step.stdout] if step.stdout else [])}
