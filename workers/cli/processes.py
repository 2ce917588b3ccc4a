"""The commands that run a worker. Stages are imported where they run: a parser must not wait for torch."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from reflink.errors import ReflinkError
from workers import settings as configuration
from workers.cli.command import AddCommand, Run
from workers.errors import WorkerError
from workers.mistyped import unknown_names
from workers.settings import WorkerSettings

log = logging.getLogger(__name__)


def add_to(command: AddCommand) -> None:
    """Adds parser, linker, fallback and ledger."""
    command("parser", "run a parser worker: papers to references", _worker(_parser_stage, configuration.ParserSettings))
    command("linker", "run a linker worker: identifiers and meaning", _worker(_linker_stage, configuration.LinkerSettings))
    command("fallback", "run a fallback worker: trigrams", _worker(_fallback_stage, configuration.FallbackSettings))
    command("ledger", "run a ledger worker: one outcome per reference", _worker(_ledger_stage, configuration.LedgerSettings))


def _worker(make: Callable[[Any], Any], model: type[WorkerSettings]) -> Run:
    def run(_: argparse.Namespace) -> int:
        from workers import logs
        from workers.runtime import Runtime, run_until_signalled

        settings = configuration.read(model)
        stage = make(settings)
        logs.set_up(settings.log_level, worker=stage.name, slot=settings.slot)
        if unknown := unknown_names(os.environ):
            log.warning("ignored: no settings, the names they may stand for beside them", extra={"names": unknown})
        try:
            run_until_signalled(Runtime(stage, settings))
            code = 0
        except ReflinkError as error:
            print(f"reflink-worker: {type(error).__name__}: {error}", file=sys.stderr)
            code = error.exit_code if isinstance(error, WorkerError) else 1
        sys.stderr.flush()
        # Not by way of the interpreter's end: threads of native libraries that still run then abort the process, and the
        # exit code, by which an operator knows what happened, would be lost.
        os._exit(code)

    return run


def _parser_stage(settings: configuration.ParserSettings) -> Any:
    from workers.parser import ParserStage

    return ParserStage(settings)


def _linker_stage(settings: configuration.LinkerSettings) -> Any:
    from workers.linker import LinkerStage

    return LinkerStage(settings)


def _fallback_stage(settings: configuration.FallbackSettings) -> Any:
    from workers.fallback import FallbackStage

    return FallbackStage(settings)


def _ledger_stage(settings: configuration.LedgerSettings) -> Any:
    from workers.ledger.stage import LedgerStage

    return LedgerStage(settings)
