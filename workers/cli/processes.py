"""The commands that run a worker. Each imports only its own stage, so that a parser does not wait for the import of torch."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from reflink.errors import ReflinkError
from workers.cli.command import AddCommand, Run, report
from workers.config import settings as configuration
from workers.config.settings import WorkerSettings
from workers.config.unknown_names import unknown_names
from workers.stage import Stage

log = logging.getLogger(__name__)


def add_to(command: AddCommand) -> None:
    """Add the commands ``parser``, ``linker``, ``fallback`` and ``ledger``."""
    workers: list[tuple[str, type[WorkerSettings], str]] = [
        ("parser", configuration.ParserSettings, "papers to references"),
        ("linker", configuration.LinkerSettings, "identifiers, locators, vectors"),
        ("fallback", configuration.FallbackSettings, "trigrams"),
        ("ledger", configuration.LedgerSettings, "one outcome per reference"),
    ]
    for name, model, purpose in workers:
        command(name, f"run a {name} worker: {purpose}", worker(partial(stage_class, name), model))


def stage_class(name: str) -> Any:
    """Return the class of a worker's stage. Imports no other stage."""
    match name:
        case "parser":
            from workers.papers.stage import ParserStage

            return ParserStage
        case "linker":
            from workers.linking.linker_stage import LinkerStage

            return LinkerStage
        case "fallback":
            from workers.linking.fallback_stage import FallbackStage

            return FallbackStage
        case _:
            from workers.ledger.stage import LedgerStage

            return LedgerStage


def worker(stage_class: Callable[[], Callable[[Any], Stage[Any, Any]]], model: type[WorkerSettings]) -> Run:
    """Return a command that runs a stage with settings read from the environment. ``stage_class`` imports the stage."""

    def run(_: argparse.Namespace) -> int:
        from workers.runtime.process_memory import limit_arenas

        limit_arenas()
        from workers.runtime.process import run_until_signalled
        from workers.runtime.runtime import Runtime
        from workers.telemetry import logs

        settings = configuration.read(model)
        stage = stage_class()(settings)
        logs.set_up(settings.log_level, worker=stage.name, slot=settings.slot)
        if unknown := unknown_names(os.environ):
            log.warning("unknown settings ignored; similar names of settings are beside them", extra={"names": unknown})
        try:
            run_until_signalled(Runtime(stage, settings))
            code = 0
        except ReflinkError as error:
            code = report(error)
        sys.stderr.flush()
        # Skip the interpreter's shutdown: threads of native libraries that are still running would abort the process then, and
        # the exit code, which shows the cause, would be lost.
        os._exit(code)

    return run
