"""The command ``reflink-spark``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import orjson

from reflink.cli.inputs import absent_share, add_format, probability
from reflink.cli.link import thresholds
from reflink.errors import BadRecord, PackageMissing, ReflinkError
from reflink.linking.policy import Policy
from reflink.terminal import complain, guard
from workers.backfill.errors import SparkFailed

OK: Final = 0
SOME_FAILED: Final = 1
USAGE: Final = 2
SPARK_FAILED: Final = 3

_LINK: Final = "Link the references of many papers at once, with the decisions of the pipeline for a catalog without vectors."
_EPILOG: Final = """examples:
  reflink-spark link --papers articles/ --catalog catalog/ --out links/          on this machine
  reflink-spark link --references parsed.jsonl.gz --catalog /shared/catalog --out hdfs:///links \\
    --master spark://head:7077 --conf spark.executor.memory=8g                    on a cluster
  reflink-spark link --papers articles/ --works works.parquet --out links/        identifiers and locators only

Inputs and output are paths of any file system that Spark knows. JSON lines may be compressed, but a compressed file is read by
one task; names that end in .parquet are Parquet. --catalog is a folder made by `reflink catalog build`, at the same path on
every machine of the cluster; with REFLINK_ENGINE=opensearch and REFLINK_ENGINE_URLS executors search that index instead of
the catalog's trigrams. --out gets a folder `outcomes` of Parquet with the columns of `reflink export`, and a folder
`rejected` of JSON lines if records cannot be read. Every machine needs reflink-stream[spark] in the Python of PYSPARK_PYTHON.

exit codes: 0 all references decided; 1 some records rejected; 2 wrong usage, or the catalog cannot be opened; 3 Spark failed"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. Expected errors are one line on standard error."""
    guard()
    try:
        arguments = _parser().parse_args(argv)
        return _link(arguments)
    except SparkFailed as error:
        complain(f"reflink-spark: {error}")
        return SPARK_FAILED
    except ReflinkError as error:
        complain(f"reflink-spark: {error}")
        return USAGE
    except BrokenPipeError:
        return 141
    except OSError as error:
        complain(f"reflink-spark: {error.filename}: {error.strerror}" if error.filename else f"reflink-spark: {error}")
        return USAGE
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reflink-spark", description="Runs reflink on Apache Spark, in bulk.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    raw = argparse.RawDescriptionHelpFormatter
    link = commands.add_parser("link", help=_LINK, description=_LINK, epilog=_EPILOG, formatter_class=raw)
    given = link.add_mutually_exclusive_group(required=True)
    given.add_argument(
        "--papers", nargs="+", metavar="PATH", help="folders of papers, or Parquet with columns path and content"
    )
    given.add_argument(
        "--references", nargs="+", metavar="PATH", help="output of reflink parse --json, or references one by one; or Parquet"
    )
    add_format(link)
    known = link.add_mutually_exclusive_group(required=True)
    known.add_argument("--catalog", metavar="DIR", help="a snapshot: its works, journals and trigrams")
    known.add_argument(
        "--works", nargs="+", metavar="PATH", help="works as JSON lines or Parquet, instead: no search of texts, so fewer links"
    )
    link.add_argument("--journals", type=Path, metavar="FILE", help="with --works: output of reflink journals build")
    link.add_argument("--out", required=True, metavar="PATH", help="a folder that does not exist")
    link.add_argument("--min-probability", type=probability, metavar="P", help="min probability of a link (default: 0.5)")
    link.add_argument(
        "--link-precision", type=probability, metavar="SHARE", help="instead: the required share of right links, e.g. 0.997"
    )
    link.add_argument(
        "--versions", choices=("report", "link"), default="report", help="other versions of a cited work (default: report)"
    )
    link.add_argument(
        "--absent", type=_share, default=0.5, metavar="SHARE", help="share of references whose work is absent (default: 0.5)"
    )
    link.add_argument(
        "--master", default=None, metavar="URL", help="spark://…, yarn, local[4] (default: of spark-submit, else local[*])"
    )
    link.add_argument("--conf", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark")
    link.add_argument("--json", action="store_true", help="rows and seconds of each step as a line of JSON")
    link.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def _share(text: str) -> float:
    share = absent_share(text)
    if share is None:
        raise argparse.ArgumentTypeError("auto is not possible here: estimate it on a sample with reflink link --absent auto")
    return share


def _setting(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.startswith("spark."):
        raise argparse.ArgumentTypeError(f"{text}: expected spark.NAME=VALUE")
    return name, value


def _link(arguments: argparse.Namespace) -> int:
    rules = _rules(arguments)
    try:
        from workers.backfill.job import Backfill, Run
        from workers.backfill.reading import read_papers, read_references, read_snapshot, read_works
        from workers.backfill.session import exists, session
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("pyspark", "py4j", "pyarrow"):
            raise
        raise PackageMissing(f"{error.name.split('.')[0]} is missing: pip install 'reflink-stream[spark]'") from None

    def report(step: str, seconds: float, rows: int) -> None:
        if not arguments.quiet:
            complain(f"{step}: {rows:,} rows, {seconds:.1f} s")

    with session(arguments.master, dict(arguments.conf), progress=not arguments.quiet and sys.stderr.isatty()) as spark:
        if exists(spark, arguments.out):
            raise BadRecord(f"--out {arguments.out}: exists: name a folder that is not there")
        works = read_works(spark, arguments.works) if arguments.works else read_snapshot(spark, rules.catalog)
        if arguments.papers:
            references = read_papers(spark, arguments.papers, arguments.format_name)
        else:
            references = read_references(spark, arguments.references)
        run: Run = Backfill(spark, arguments.out, report).link(works, references, rules)
    if arguments.json:
        print(orjson.dumps(asdict(run)).decode())
    if run.rejected:
        complain(f"{run.rejected} records rejected: {arguments.out}/rejected")
    return SOME_FAILED if run.rejected else OK


def _rules(arguments: argparse.Namespace) -> Any:
    """Return the rules of the arguments. Raises SnapshotError or BadRecord."""
    from reflink.journals.lists import read_list
    from workers.backfill.deciding import Rules, opened
    from workers.config.engine import EngineSearchSettings
    from workers.config.settings import read

    journals, mode, engine = b"", Policy().lexical_mode, None
    if arguments.catalog is not None:
        if arguments.journals is not None:
            raise BadRecord("--journals is for --works: a catalog has its own table")
        settings = read(EngineSearchSettings)
        engine = settings if settings.engine == "opensearch" else None
        catalog = opened(arguments.catalog, engine is None)
        if engine is None and catalog.trigrams is None:
            raise BadRecord(f"{arguments.catalog}: a catalog without trigrams: build it again, or set REFLINK_ENGINE")
        mode = catalog.lexical_mode
    elif arguments.journals is not None:
        journals = b"\n".join(journal.to_json() for journal in read_list(arguments.journals))
    policy = Policy(lexical_mode=mode, versions=arguments.versions, **thresholds(arguments))
    return Rules(policy, arguments.catalog and str(Path(arguments.catalog).resolve()), engine, journals)


if __name__ == "__main__":
    sys.exit(main())
