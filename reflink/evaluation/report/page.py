"""The report's page: headline, tables and pictures, and every mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reflink.evaluation.outcomes import Mistake
from reflink.evaluation.report import charts, tables
from reflink.evaluation.report.markup import Markup, joined, tag
from reflink.evaluation.report.mistakes import mistakes
from reflink.evaluation.report.style import STYLE

Figures = Mapping[str, Any]

#: Content security policy: the page loads and runs nothing but its own pictures, whatever the texts contain.
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
#: The headline's figures: (measurement, figure, label).
_HEADLINE: Final = (
    ("closed", "error", "error, closed world"), ("open", "f1", "F1, open world"),
    ("open", "precision", "precision, open world"), ("open", "recall", "recall, open world"),
    ("open", "false_link", "absent references falsely linked"),
    ("raw_only.open", "f1", "F1, fields hidden"),
)  # fmt: skip


def page(measured: Figures, found: Mapping[str, Sequence[Mistake]]) -> str:
    """Return the whole document, self-contained. ``found``: the mistakes to list, by world."""
    sections = {
        "figures": ("Figures", _figures(measured)),
        "paper": ("The published work, repeated here", _paper(measured.get("tables") or {})),
        "open": ("References whose target is absent", _open(measured)),
        "calibration": ("Probabilities", _calibration(measured.get("open") or {})),
        "sources": ("Sources, and what references have", _sources(measured)),
        "causes": ("Errors by cause", _causes(measured)),
        "read": ("Errors read by a person", _read(measured)),
        "mistakes": ("Every mistake", _mistakes(measured, found)),
        "how": ("How it was measured", _how(measured["about"])),
    }
    shown = {name: section for name, section in sections.items() if section[1]}
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", "reflink: accuracy"),
        tag("style", Markup(STYLE)),
    )
    body = tag(
        "body",
        tag("h1", "reflink: accuracy"),
        tag("p", _about(measured["about"]), class_="note"),
        tag("nav", [tag("a", title, href=f"#{name}") for name, (title, _) in shown.items()]),
        _cards(measured),
        [tag("section", tag("h2", title), content, id=name) for name, (title, content) in shown.items()],
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _about(about: Figures) -> str:
    return (
        f"{about['queries']:,} references of {about.get('papers', 0):,} papers ({about.get('references', '')}) against "
        f"{about['works']:,} works ({about.get('catalog', '')}); profile {about['profile']}; encoder {about['encoder']}, "
        f"{about['precision']}. In brackets: 95% intervals."
    )


def _figure(title: str, picture: Markup | None, caption: str = "") -> Markup | None:
    if picture is None:
        return None
    return tag("figure", tag("h3", title), picture, tag("figcaption", caption) if caption else None)


def _side_by_side(figures: Iterable[Markup | None]) -> Markup | None:
    shown = [figure for figure in figures if figure is not None]
    return tag("div", shown, class_="figures") if shown else None


def _folded(title: str, content: Markup | None) -> Markup | None:
    return tag("details", tag("summary", title), content) if content is not None else None


def _cards(measured: Figures) -> Markup:
    worlds = {name: figures for name, _, figures in tables.worlds(measured)}
    cards = [
        tag(
            "div",
            tag("span", text),
            tag("b", f"{100 * of[name]:.2f}%"),
            tag("small", f"[{low:.2f}, {high:.2f}]"),
            class_="card",
        )
        for world, name, text in _HEADLINE
        if name in (of := worlds.get(world, {}))
        for low, high in [(100 * bound for bound in of[f"{name}_interval"])]
    ]
    if error := worlds.get("open", {}).get("calibration"):
        small = tag("small", "20 bins of equal mass")
        cards.append(tag("div", tag("span", "calibration error"), tag("b", f"{100 * error['ece']:.2f}%"), small, class_="card"))
    return tag("div", cards, class_="cards")


def _figures(measured: Figures) -> Markup:
    closed, opened = measured.get("closed") or {}, measured.get("open") or {}
    pictures = [
        _figure("Closed world, by kind of query", charts.kinds(closed, {"error": "error"}, "Error by kind of query")),
        _figure(
            "Open world, by kind of query",
            charts.kinds(opened, {"precision": "precision", "recall": "recall", "f1": "F1"}, "Open world by kind of query"),
        ),
    ]
    kinds = tag(
        "p",
        "front: the target's metadata come from the article itself, as in production; cocite: from another paper's reference "
        "to it; medline: from its record there. error: not linked to the target. precision: right links of all links. "
        "recall: right links of the references whose target is there. false links: of those whose target is not there. "
        "suspects: references whose target is probably false in the data, listed by reflink.evaluation.noise. ECE: calibration "
        "error.",
        class_="note",
    )
    return joined([tables.overview(measured), kinds, _side_by_side(pictures)])


def _paper(given: Figures) -> Markup:
    curve = "Closed world. Recall: of the references whose nearest neighbour is the target, as the paper must have drawn it."
    at = (given.get("curve") or {}).get("nearest_of_all")
    if at:
        curve += (
            f" Of all references, {at['threshold']:.4f} is nearest to (1, 1), with recall {100 * at['recall_of_all']:.2f}%."
        )
    timed: Figures = next((row["timed"] for row in given.get("approaches", ()) if row.get("timed")), {})
    pictures = [
        _figure(
            "Error by approach and mode", charts.approaches(given), "Closed world. Diamonds: the paper's, on 5.27 million."
        ),
        _figure("Precision and recall of SBERT TVL", charts.curve(given), curve),
        _figure("The hybrid's error by threshold", charts.hybrid(given), "SBERT TVL from the threshold on, else Jaccard Raw."),
        _figure("How many reach its second stage", charts.fallback(given)),
    ]
    blocks = (
        ("Error and time by approach", joined([tables.approaches(given), _times(timed)]) if given.get("approaches") else None),
        ("Which fields there are", tables.fields(given)),
        ("How long fields are", tables.limits(given)),
    )
    return joined([_side_by_side(pictures), [(tag("h3", title), block) for title, block in blocks if block is not None]])


def _times(timed: Figures) -> Markup | None:
    if not timed:
        return None
    text = (
        f"Times: seconds a reference, its text, encoding, all candidates and the choice, {timed['threads']} thread; median of "
        f"{timed['alone']} one at a time, and of batches of {timed['batch']}; the machine's load was {timed['load']}."
    )
    return tag("p", text, class_="note")


def _open(measured: Figures) -> Markup:
    opened = measured.get("open") or {}
    rule = opened.get("rule")
    text = None
    if rule:
        best = rule["best"]
        text = tag(
            "p",
            f"At its published threshold {rule['threshold']} the nearest neighbour by meaning has precision "
            f"{100 * rule['precision']:.1f}%, recall {100 * rule['recall']:.1f}% and F1 {100 * rule['f1']:.1f}%, and links "
            f"{100 * rule['false_link']:.1f}% of the references whose target is absent; at its best threshold "
            f"{best['threshold']:g} F1 is {100 * best['f1']:.1f}%.",
        )
    pictures = [
        _figure("Precision over recall", charts.verdict(opened), "The table of the thresholds below names the thresholds."),
        _figure("By share of the targets that is there", charts.shares(measured)),
    ]
    return joined([text, _side_by_side(pictures)])


def _calibration(opened: Figures) -> Markup:
    given = opened.get("calibration")
    if not given:
        return Markup("")
    text = (
        f"Expected calibration error {100 * given['ece']:.3f}% (20 bins of equal mass), {100 * given['ece_equal_width']:.3f}% "
        f"(20 of equal width); Brier score {given['brier']:.5f}; of the best candidates of {given['queries']:,} references, "
        "linked or not."
    )
    apart = (
        "On the line, the share of right candidates equals the stated probability. Bins of equal mass; bars: Wilson intervals; "
        "values beyond an axis lie at its end."
    )
    pictures = [
        _figure("Stated and observed", charts.reliability(opened), apart),
        _figure("How probabilities are distributed", charts.scores(opened), "Counts on a scale of equal factors."),
        _figure("What another threshold would give", charts.accepts(opened)),
    ]
    folded = [_folded("Table of the bins", tables.bins(opened)), _folded("Table of the thresholds", tables.thresholds(opened))]
    return joined([tag("p", text), _side_by_side(pictures), folded])


def _sources(measured: Figures) -> Markup:
    lists = measured["about"].get("pubmed")
    if not lists:
        return Markup("")
    text = tag(
        "p",
        f"PubMed's lists are mere text. {100 * lists['absent']:.1f}% of the cited works are absent. The links assume the "
        "policy's share, one half by default, and in 'known share' this one. "
        f"{lists['undecided']:,} links are left out, because no identifier shows whether they are right. The mixture has as "
        "many references of each source, the articles' in the open world.",
        class_="note",
    )
    named = {name: (label, of) for name, label, of in tables.worlds(measured) if name in ("open", "pubmed", "mixture")}
    rates = {"precision": "precision", "recall": "recall", "f1": "F1"}
    pictures = [
        _figure(f"{label.capitalize()}, by contents", charts.contents(of, rates, "By contents of the reference"))
        for label, of in named.values()
    ]
    pictures += [
        _figure(f"{label.capitalize()}: stated and observed", charts.reliability(of))
        for name, (label, of) in named.items()
        if name != "open"
    ]
    return joined([text, _side_by_side(pictures)])


def _read(measured: Figures) -> Markup:
    if (given := tables.read(measured)) is None:
        return Markup("")
    text = (
        "Verdicts given with reflink evaluate --adjudicate, from the records alone. The linker's own errors: those with the "
        "verdict linker, as a share of all references; at most: with those that cannot be told or were not read."
    )
    return joined([tag("p", text, class_="note"), given, _folded("What the verdicts mean", tables.verdicts())])


def _causes(measured: Figures) -> Markup:
    pictures = [_figure(text.capitalize(), charts.causes(figures)) for _, text, figures in tables.worlds(measured)]
    if not any(pictures):
        return Markup("")
    return joined([_side_by_side(pictures), _folded("What the causes mean", tables.causes())])


def _mistakes(measured: Figures, found: Mapping[str, Sequence[Mistake]]) -> Markup:
    text = tag("p", "As cited, as linked (or the best that was refused), and the target that the data name.", class_="note")
    lists = [
        _folded(f"{text.capitalize()}: {len(found[name]):,}", mistakes(found[name]))
        for name, text, _ in tables.worlds(measured)
        if name in found
    ]
    return joined([text, lists]) if lists else Markup("")


def _how(about: Figures) -> Markup:
    held_out = (
        f"{about['held_out']:,} of the {about['queries']:,} references come from papers that the verdict was trained on; "
        "the verdict of each comes from a model trained without its paper."
    )
    resampled = (
        f"Intervals: {about.get('resamples', 0):,} resamples of the citing papers, percentiles 2.5 and 97.5. Where nothing "
        "at all went wrong, or all comes from one paper, Wilson's instead."
    )
    withheld = (
        "Identifiers were left in the references, which flatters these figures: the truth comes from them."
        if about.get("identifiers")
        else "Identifiers were withheld, in fields and in the text."
    )
    took = f"Measured in {about['seconds']:,.0f} s." if "seconds" in about else None
    return joined([tag("p", line) for line in (held_out, resampled, withheld, took) if line])
