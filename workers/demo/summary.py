"""The demo's final report: counts, times, dead letters, a few links in full, and differences from the expected outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from rich.table import Table

from reflink.cli.output import describe
from reflink.entities import Work
from reflink.errors import BadRecord
from reflink.terminal import Terminal, styled
from workers.demo.outcomes import Outcomes, Settled
from workers.demo.papers import Published
from workers.demo.second_act import Played

_METHODS: Final = ("identifier", "place", "semantic", "lexical")
_DIFFERENCES_SHOWN: Final = 30
_DEAD_SHOWN: Final = 20
_TEXT: Final = 300


@dataclass(frozen=True)
class Expected:
    """The expected outcomes of a set of papers: canonical work id or None by reference id, and the unreadable files."""

    references: Mapping[str, str | None]
    dead_letters: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> Expected:
        """Read ``{"references": {id: work id or null}, "dead_letters": [file names]}``. Raises BadRecord."""
        try:
            fields = orjson.loads(path.read_bytes())
            return cls(dict(fields["references"]), frozenset(fields["dead_letters"]))
        except OSError as error:
            raise BadRecord(f"{path}: cannot be read: {error.strerror}") from None
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise BadRecord(
                f'{path}: must be {{"references": {{id: work id or null}}, "dead_letters": [file names]}}: '
                f"{type(error).__name__}: {error}"
            ) from None


def files_of_dead_letters(outcomes: Outcomes, published: Published) -> list[tuple[str, str]]:
    """Return the name (the paper's file name, else the record's key) and the error of each dead letter, sorted by name."""
    return sorted(
        (name, f"{letter.error}: {letter.message}" + ("" if letter.topic == "papers" else f" (from topic {letter.topic})"))
        for letter in outcomes.dead_letters
        for name in (published.files.get(letter.key, ()) if letter.topic == "papers" else ()) or (letter.key,)
    )


def differences(expected: Expected, outcomes: Outcomes, published: Published) -> list[str]:
    """Return a line for each unexpected reference or dead letter, in order of id; an empty list if all are as expected."""
    lines = []
    for reference in sorted(expected.references.keys() | outcomes.references.keys()):
        if reference not in outcomes.references:
            lines.append(f"{reference}: no outcome, expected {_cited(expected.references[reference])}")
        elif reference not in expected.references:
            lines.append(f"{reference}: {_cited(outcomes.references[reference].link.cited)}, but the reference is not expected")
        elif (got := outcomes.references[reference].link.cited) != (wanted := expected.references[reference]):
            lines.append(f"{reference}: {_cited(got)}, expected {_cited(wanted)}")
    dead = dict(files_of_dead_letters(outcomes, published))
    lines += [f"{name}: expected as a dead letter, but is not" for name in sorted(expected.dead_letters - dead.keys())]
    lines += [f"{name}: an unexpected dead letter: {dead[name]}" for name in sorted(dead.keys() - expected.dead_letters)]
    return lines


def _cited(cited: str | None) -> str:
    return cited or "unresolved"


@dataclass(frozen=True)
class Summary:
    """All numbers of one run. Times in seconds; ``paper_to_link`` quantiles are None if nothing was linked.

    ``seconds`` runs from the first paper sent to the last outcome read. ``woken``: links whose work arrived after the
    paper that cites it. ``busy``: working time in seconds by worker and step.
    """

    papers: int
    references: int
    linked: dict[str, int]
    unresolved: dict[str, int]
    paper_to_link: dict[str, float | None]
    dead_letters: list[tuple[str, str]]
    refused: list[tuple[str, str]]
    seconds: float
    works: int
    busy: dict[str, dict[str, float]]
    woken: int = 0

    @property
    def references_per_second(self) -> float:
        """References with an outcome, divided by the duration of the run."""
        return self.references / self.seconds if self.seconds > 0 else 0.0

    def to_json(self, differences: Sequence[str] | None, expected: Path | None, second_act: Sequence[Played] = ()) -> bytes:
        """Return the summary as JSON, without ``differences`` if nothing was compared and ``second_act`` if none was played."""
        fields: dict[str, Any] = {**asdict(self), "references_per_second": self.references_per_second}
        if differences is not None:
            fields |= {"expected": str(expected), "differences": list(differences)}
        if second_act:
            fields["second_act"] = [asdict(each) for each in second_act]
        return orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def summarise(
    outcomes: Outcomes, published: Published, *, seconds: float, works: int, busy: dict[str, dict[str, float]]
) -> Summary:
    """Count the outcomes of a run."""
    settled = outcomes.references.values()
    linked = Counter(each.link.method or "" for each in settled if each.link.cited is not None)
    unresolved = Counter(each.link.unresolved or "" for each in settled if each.link.cited is None)
    times = [each.seconds for each in settled if each.link.cited is not None]
    quantiles = {name: float(np.quantile(times, q)) if times else None for name, q in (("p50", 0.5), ("p95", 0.95))}
    return Summary(
        papers=len(published),
        references=len(outcomes.references),
        linked=dict(linked.most_common()),
        unresolved=dict(unresolved.most_common()),
        paper_to_link=quantiles,
        dead_letters=files_of_dead_letters(outcomes, published),
        refused=list(published.refused),
        seconds=seconds,
        works=works,
        busy=busy,
        woken=sum(each.woken for each in settled if each.link.cited is not None),
    )


def choose(outcomes: Outcomes) -> list[Settled]:
    """Choose a few informative outcomes: the most and least certain link of each method, and the best unresolved one."""
    by_method: dict[str, list[Settled]] = {}
    for reference in sorted(outcomes.references):
        settled = outcomes.references[reference]
        if 40 <= len(settled.text) <= _TEXT:
            by_method.setdefault(settled.link.method or "", []).append(settled)
    chosen: list[Settled] = []
    for method in (*_METHODS, ""):
        ranked = sorted(by_method.get(method, ()), key=_sureness)
        chosen += ranked[-1:]
        if method and len(ranked) > 1:
            chosen.append(ranked[0])
    return chosen


def _sureness(settled: Settled) -> tuple[float, int]:
    link = settled.link
    sure = link.probability if link.probability is not None else link.score
    return (0.0 if sure is None else sure, len(link.reasons))


def show(summary: Summary, examples: Iterable[Settled], works: Mapping[str, Work], console: Terminal) -> None:
    """Print the summary for people."""
    out = _Writer(console)
    linked, unresolved = sum(summary.linked.values()), sum(summary.unresolved.values())
    out.line(
        (f"{summary.papers:,} papers, {summary.references:,} references", "bold"),
        f" against {summary.works:,} works in {summary.seconds:,.1f} s: {summary.references_per_second:,.0f} references/s",
    )
    out.counts(f"{linked:,} linked, by method", summary.linked, summary.references)
    if summary.woken:
        out.line(f"  {summary.woken:,} of them after their paper, when the cited work arrived")
    out.counts(f"{unresolved:,} unresolved, by reason", summary.unresolved, summary.references)
    p50, p95 = summary.paper_to_link["p50"], summary.paper_to_link["p95"]
    if p50 is not None and p95 is not None:
        out.head(f"paper to link: p50 {p50:,.2f} s, p95 {p95:,.2f} s")
        out.line(
            "  from the timestamp of the paper's record to that of the link's; the papers of a wave are sent at once, so it"
        )
        out.line("  includes the wait for earlier papers")
    out.list(f"{len(summary.dead_letters)} dead letters", summary.dead_letters)
    out.list(f"{len(summary.refused)} files not sent", summary.refused)
    shown = list(examples)
    if shown:
        out.head("examples")
    for each in shown:
        out.outcome(each, works)


def show_differences(found: Sequence[str], expected: Expected, path: Path, console: Terminal) -> None:
    """Print one line if all outcomes are as expected, else the differences."""
    out = _Writer(console)
    out.line("")
    if not found:
        total = f"all {len(expected.references):,} references and {len(expected.dead_letters)} dead letters"
        out.line(("as expected:", "green"), f" {total} are as in {path}")
        return
    out.line((f"{len(found)} differences", "red"), f" from {path}:")
    for line in found[:_DIFFERENCES_SHOWN]:
        out.line(f"  {line}")
    if len(found) > _DIFFERENCES_SHOWN:
        out.line(f"  … and {len(found) - _DIFFERENCES_SHOWN} more")


class _Writer:
    def __init__(self, console: Terminal) -> None:
        self.console = console

    def line(self, *parts: str | tuple[str, str]) -> None:
        self.console.print(styled(*parts), highlight=False, soft_wrap=True)

    def head(self, text: str) -> None:
        self.line("")
        self.line((text, "bold"))

    def counts(self, title: str, counts: Mapping[str, int], total: int) -> None:
        self.head(title)
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(min_width=18)
        table.add_column(justify="right")
        table.add_column(justify="right")
        for name, count in counts.items():
            table.add_row(f"  {name}", f"{count:,}", f"{count / total:.1%}")
        self.console.print(table)

    def list(self, title: str, entries: Sequence[tuple[str, str]]) -> None:
        if not entries:
            return
        self.head(title)
        for name, message in entries[:_DEAD_SHOWN]:
            self.line(f"  {name}  ", (message[:_TEXT], "dim"))
        if len(entries) > _DEAD_SHOWN:
            self.line(f"  … and {len(entries) - _DEAD_SHOWN} more")

    def outcome(self, settled: Settled, works: Mapping[str, Work]) -> None:
        link = settled.link
        self.line("  ", (link.method or "unresolved", "bold"), f"  {link.reference}")
        self.line(f"    cited as  {settled.text}")
        if link.cited is not None:
            work = works.get(link.cited)
            title = describe(work) if work else "(no longer in the catalog)"
            self.line(f"    is        {title}  ", (link.cited, "dim"))
        else:
            best = f"; the nearest was {link.runner_up.cited}" if link.runner_up else ""
            self.line(f"    is        none of them: {link.unresolved}{best}")
        numbers = [
            f"{name} {value:.3f}"
            for name, value in (("probability", link.probability), ("score", link.score))
            if value is not None
        ]
        self.line(f"    because   {'; '.join(link.reasons) or 'no reason'}")
        after = f"{settled.seconds:.2f} s after its paper"
        status = ((link.status, "red"), ", ") if link.status else ()
        self.line("    ", *(f"{number}, " for number in numbers), *status, after)
        self.line("")
