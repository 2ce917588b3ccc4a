"""The command ``reflink explain``: show the evidence for and against each candidate of one reference."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table

from reflink.cli import OK, SOME_FAILED
from reflink.cli.inputs import add_format, read_papers
from reflink.cli.link import add_catalog, link_learnt, open_linker
from reflink.cli.output import add_json, complain, console, describe, identifiers, table, write_json
from reflink.entities import Link, Paper, Reference, Work
from reflink.errors import ReflinkError
from reflink.terminal import Terminal, styled

if TYPE_CHECKING:
    from reflink.linking.linker import Linker
    from reflink.verdict import Evidence, Verdict

NAME: Final = "explain"
HELP: Final = """Show why a reference was linked or not: candidates of all stages, evidence, verdict.

The table of a candidate shows the fields of reference and work, and the points, in log-odds, of each subject for (+) or
against (-) a link. Points and base add up to the log-odds of the verdict's probability.

examples:
  reflink explain paper.xml --reference 7 --catalog catalog/              the seventh reference
  reflink explain paper.xml --reference B12.1 --catalog catalog/ --json   by its id, as reflink parse shows it"""

#: Above every probability and cosine: with it as threshold no stage settles the reference, so each returns its candidates.
_NEVER: Final = 2.0
#: Number of candidates whose points are shown; for the others only the verdict is shown.
_IN_FULL: Final = 3


@dataclass
class Considered:
    """A candidate, the stages that proposed it, and its verdict.

    ``identifier`` and ``place``: whether an identifier or a locator led to it. ``semantic``: its cosine, ``lexical``: its
    similarity s; None if that search did not propose it. ``points`` are log-odds by subject; with ``base`` they add up to the
    log-odds of the verdict.
    """

    work: Work
    canonical: str
    evidence: Evidence
    verdict: Verdict
    points: dict[str, float]
    base: float
    identifier: bool = False
    place: bool = False
    semantic: float | None = None
    lexical: float | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: file, reference, catalog and output format."""
    parser.add_argument("file", metavar="FILE", help="the paper, of any format, plain or gzip; - reads stdin")
    add_format(parser)
    parser.add_argument(
        "--reference",
        required=True,
        metavar="ID|POSITION",
        help="id or position of the reference, as in the output of reflink parse",
    )
    add_catalog(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Explain one reference. Returns 1 if the paper cannot be read or has no such reference."""
    papers: list[Paper] = []
    for _, paper in read_papers([args.file], format_name=args.format_name):
        if isinstance(paper, ReflinkError):
            complain(paper)
            return SOME_FAILED
        papers.append(paper)
    found = next(((paper, reference) for paper in papers if (reference := pick(paper, args.reference))), None)
    if found is None:
        count = sum(len(paper.references) for paper in papers)
        complain(f"{args.file}: no reference {args.reference} among {count}: see reflink parse")
        return SOME_FAILED
    paper, reference = found
    linker = open_linker(args)
    if args.absent is None:
        linker.policy = replace(linker.policy, absent=link_learnt(linker, paper.references)[1])
    considered, link = consider(reference, linker), linker.link([reference])[0]
    if args.json:
        candidates = [_to_dict(candidate) for candidate in considered]
        write_json({"reference": reference, "candidates": candidates, "link": link})
    else:
        _show(console(), reference, considered, link, linker)
    return OK


def pick(paper: Paper, wanted: str) -> Reference | None:
    """Return the reference whose id, part of the id after ``#``, XML id or position is ``wanted``, in this order, else None."""
    for reference in paper.references:
        if wanted in (reference.id, reference.id.removeprefix(f"{paper.id}#")):
            return reference
    named = [reference for reference in paper.references if reference.xml_id == wanted]
    if named:
        return named[0]
    return next((reference for reference in paper.references if str(reference.position) == wanted), None)


def consider(reference: Reference, linker: Linker) -> list[Considered]:
    """Return the candidates from identifiers, locators and both searches, the most probable first."""
    from reflink.catalog.titles import of_works
    from reflink.linking.linker import semantic_step
    from reflink.linking.policy import Found, Open
    from reflink.text import reference_text, work_text

    catalog, policy = linker.catalog, linker.policy
    considered: dict[str, Considered] = {}
    # Canonical ids of the works that have any of the reference's identifiers.
    bearers = {*catalog.lookup(reference.ids), *catalog.lookup(reference.ids_weak)}

    def of(work_id: str) -> Considered | None:
        if work_id not in considered and (work := catalog.get(work_id)) is not None:
            considered[work_id] = _considered(reference, work, catalog.canonical(work_id), bearers, linker)
        return considered.get(work_id)

    for work_id in bearers:
        of(work_id)
    for work_id in catalog.places(reference):
        if (candidate := of(work_id)) is not None:
            candidate.place = True
    undecided = replace(policy, sure=_NEVER, threshold=_NEVER, refuse=0.0)
    first = semantic_step([reference], linker.source, undecided)[0]
    for proposed in (first.found if isinstance(first, Open) else Found()).semantic:
        if (candidate := of(proposed.cited)) is not None:
            candidate.semantic = proposed.score
    mode = policy.lexical_mode
    text = reference_text(reference, mode, lexical=True) or work_text(reference, mode, lexical=True)
    if catalog.trigrams is not None and text:
        for work_id, score in of_works(next(iter(catalog.trigrams.search([text], policy.candidates)))):
            if (candidate := of(work_id)) is not None:
                candidate.lexical = score
    return sorted(considered.values(), key=lambda candidate: (-candidate.verdict.probability, candidate.work.id))


def _considered(reference: Reference, work: Work, canonical: str, bearers: set[str], linker: Linker) -> Considered:
    from reflink.catalog.titles import by_titles
    from reflink.verdict import Verdict, evidence
    from reflink.verdict.reasons import reasons

    known, journals = canonical in bearers, linker.catalog.journals
    every = [evidence(reference, each, by_identifier=known, journals=journals) for each in by_titles(work)]
    rows = np.array(every)
    probabilities = linker.judge.probabilities(rows, linker.policy.absent)
    best = int(probabilities.argmax())
    found, row, probability = every[best], rows[best], float(probabilities[best])
    points = linker.judge.contributions(row)
    base = _log_odds(probability) - sum(points.values())
    verdict = Verdict(probability, reasons(found, points))
    return Considered(work, canonical, found, verdict, points, base, identifier=canonical in bearers)


def _log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability))) if 0 < probability < 1 else 0.0


def _to_dict(candidate: Considered) -> dict[str, Any]:
    return {
        "cited": candidate.canonical,
        "work": candidate.work,
        "identifier": candidate.identifier,
        "place": candidate.place,
        "semantic": candidate.semantic,
        "lexical": candidate.lexical,
        "probability": candidate.verdict.probability,
        "reasons": candidate.verdict.reasons,
        "points": {name: round(value, 3) for name, value in candidate.points.items()},
        "evidence": candidate.evidence.present(),
    }


def _show(out: Terminal, reference: Reference, considered: list[Considered], link: Link, linker: Linker) -> None:
    out.print(styled((reference.id, "bold"), f"  {describe(reference)}"), soft_wrap=True)
    for name, value in (("as written", reference.raw_text), ("identifiers", identifiers(reference.ids))):
        if value:
            out.print(f"{name}: {value}", soft_wrap=True, highlight=False)
    for number, each in enumerate(considered, start=1):
        out.print()
        out.print(styled((f"{number}. {each.work.id}", "bold"), f"  {describe(each.work)}"), soft_wrap=True)
        if each.canonical != each.work.id:
            out.print(f"   one work with {each.canonical}", soft_wrap=True)
        out.print(f"   found by {_found_by(each)}; probability {each.verdict.probability:.2%}", soft_wrap=True)
        out.print(f"   {'; '.join(each.verdict.reasons)}", soft_wrap=True)
        if number <= _IN_FULL:
            out.print(_points(reference, each))
    if not considered:
        out.print()
        out.print("no candidate: nothing in the catalog is similar, and no identifier is known there")
    outcome = f"cites {link.cited} ({link.method})" if link.cited else f"not linked: {link.unresolved}"
    policy = linker.policy
    least = f"; a link needs {policy.accept_at(policy.absent):.2%}" if policy.profile == "production" else ""
    least += f" where {policy.absent:.1%} of the works are absent" if least else ""
    out.print()
    out.print(styled((outcome, "bold"), f"  profile {linker.policy.profile}{least}"), soft_wrap=True)


def _points(reference: Reference, candidate: Considered) -> Table:
    """Return a table of both records and the points by subject, the largest absolute value first."""
    work = candidate.work
    sides: dict[str, tuple[Any, Any]] = {
        "title": (reference.title or reference.chapter_title, work.title),
        "authors": (", ".join(reference.last_names) or reference.collab, ", ".join(work.authors)),
        "year": (reference.year, work.year),
        "volume": (reference.volume, work.volume),
        "page": (reference.first_page, work.fpage),
        "venue": (reference.venue, work.venue),
        "identifier": (identifiers(reference.ids), identifiers(work.ids)),
    }
    rows = table((("   subject", None), ("points", None), ("reference", 4), ("work", 4)))
    for subject, value in sorted(candidate.points.items(), key=lambda item: (-abs(item[1]), item[0])):
        a, b = sides.get(subject, ("", ""))
        rows.add_row(f"   {subject}", f"{value:+.2f}", _short(a), _short(b))
    rows.add_row("   base", f"{candidate.base:+.2f}", "", "")
    return rows


def _short(value: Any) -> str:
    text = " ".join(str(value or "").split())
    return text if len(text) <= 80 else f"{text[:79]}…"


def _found_by(candidate: Considered) -> str:
    ways = [name for name in ("identifier", "place") if getattr(candidate, name)]
    searches = (("meaning", candidate.semantic), ("trigrams", candidate.lexical))
    return ", ".join([*ways, *(f"{name} {score:.4f}" for name, score in searches if score is not None)])
