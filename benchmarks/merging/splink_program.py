"""Score pairs of records with splink. A program of its own, since splink needs other versions of packages.

    PYTHON benchmarks/merging/splink_program.py RECORDS PAIRS default|tuned

RECORDS: JSON lines with ``at``, ``title``, ``authors``, ``first_author``, ``venue``, ``year``, ``volume``, ``page``, ``keys``.
PAIRS: written; JSON with ``pairs`` [a, b, probability] and ``seconds``. ``default``: the raw fields, compared as splink's guide
does, with its blocking on equal fields. ``tuned``: folded fields, a comparison for each kind of difference between records of
articles, and reflink's blocking keys. Both estimate their parameters from the records without labels.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped,unused-ignore]
import splink.comparison_level_library as levels  # type: ignore[import-not-found,unused-ignore]
import splink.comparison_library as comparisons  # type: ignore[import-not-found,unused-ignore]
from splink import DuckDBAPI, Linker, SettingsCreator, block_on  # type: ignore[import-not-found,unused-ignore]


def default() -> tuple[Any, list[Any]]:
    return SettingsCreator(
        link_type="dedupe_only", unique_id_column_name="at",
        comparisons=[
            comparisons.JaroWinklerAtThresholds("title"),
            comparisons.NameComparison("first_author"),
            comparisons.JaroWinklerAtThresholds("venue"),
            comparisons.ExactMatch("year"),
            comparisons.ExactMatch("volume"),
            comparisons.ExactMatch("page"),
        ],
        blocking_rules_to_generate_predictions=[
            block_on("title"), block_on("first_author", "year", "page"), block_on("first_author", "substr(title, 1, 20)"),
        ],
    ), [block_on("title"), block_on("first_author", "year")]  # fmt: skip


def tuned() -> tuple[Any, list[Any]]:
    title = comparisons.CustomComparison(
        output_column_name="folded",
        comparison_levels=[
            levels.NullLevel("folded"),
            levels.ExactMatchLevel("folded"),
            levels.CustomLevel(
                "levenshtein(folded_l, folded_r) <= 0.05 * greatest(length(folded_l), length(folded_r))", "within 5%"
            ),
            levels.CustomLevel(
                "starts_with(folded_l, folded_r) or starts_with(folded_r, folded_l)", "one begins with the other"
            ),
            levels.CustomLevel(
                "levenshtein(folded_l, folded_r) <= 0.2 * greatest(length(folded_l), length(folded_r))", "within 20%"
            ),
            levels.ElseLevel(),
        ],
    )
    year = comparisons.CustomComparison(
        output_column_name="year",
        comparison_levels=[
            levels.NullLevel("year"), levels.ExactMatchLevel("year"), levels.CustomLevel("abs(year_l - year_r) = 1", "1 apart"),
            levels.ElseLevel(),
        ],
    )  # fmt: skip
    return SettingsCreator(
        link_type="dedupe_only", unique_id_column_name="at",
        comparisons=[
            title,
            comparisons.JaroWinklerAtThresholds("first", [0.9]).configure(term_frequency_adjustments=True),
            comparisons.ArrayIntersectAtSizes("authors", [3, 2, 1]),
            year,
            comparisons.ExactMatch("volume"),
            comparisons.ExactMatch("page"),
            comparisons.JaroWinklerAtThresholds("venue", [0.9, 0.7]),
        ],
        blocking_rules_to_generate_predictions=[block_on("keys", arrays_to_explode=["keys"])],
    ), [block_on("folded"), block_on("first", "year")]  # fmt: skip


def main() -> None:
    source, target, kind = sys.argv[1:]
    rows = [json.loads(line) for line in Path(source).read_text().splitlines()]
    began = time.perf_counter()
    settings, training = tuned() if kind == "tuned" else default()
    table = DuckDBAPI().register(pd.DataFrame(rows))
    linker = Linker(table, settings)
    linker.training.estimate_probability_two_random_records_match([training[0]], recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=1)
    for rule in training:
        linker.training.estimate_parameters_using_expectation_maximisation(rule, max_pairs=1e6)
    found = linker.inference.predict(threshold_match_probability=0.001).as_pandas_dataframe()
    pairs = [
        [min(a, b), max(a, b), p]
        for a, b, p in zip(found["at_l"].tolist(), found["at_r"].tolist(), found["match_probability"].tolist(), strict=True)
    ]
    Path(target).write_text(json.dumps({"pairs": pairs, "seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
