"""The commands that run a worker. Each imports only its own stage, so that a parser does not wait for the import of torch."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from reflink.errors import ReflinkError
from workers.cli.command import AddCommand, Run, report
from workers.config import settings as configuration
from workers.config.settings import WorkerSettings
from workers.config.unknown_names import unknown_names
from workers.errors import BadSettings
from workers.stage import Stage

if TYPE_CHECKING:
    from workers.runtime.runtime import Runtime

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
        added = command(name, f"run a {name} worker: {purpose}", worker(partial(stage_class, name), model))
        if name == "linker":
            added.add_argument(
                "--with-fallback",
                action="store_true",
                help="also run a fallback worker in this process, on the same GPU, with its own group and transactions",
            )


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

    def run(arguments: argparse.Namespace) -> int:
        from workers.runtime.process_memory import limit_arenas

        limit_arenas()
        from workers.runtime.process import run_until_signalled
        from workers.runtime.runtime import Runtime
        from workers.runtime.together import Together
        from workers.telemetry import logs

        settings = configuration.read(model)
        stage = stage_class()(settings)
        together = getattr(arguments, "with_fallback", False)
        logs.set_up(settings.log_level, threads=together, worker=stage.name, slot=settings.slot)
        if unknown := unknown_names(os.environ):
            log.warning("unknown settings ignored; similar names of settings are beside them", extra={"names": unknown})
        try:
            runtime = Runtime(stage, settings)
            run_until_signalled(Together([runtime, _fallback_runtime()], settings) if together else runtime)
            code = 0
        except ReflinkError as error:
            code = report(error)
        sys.stderr.flush()
        # Skip the interpreter's shutdown: threads of native libraries that are still running would abort the process then, and
        # the exit code, which shows the cause, would be lost.
        os._exit(code)

    return run


def _fallback_runtime() -> Runtime:
    from workers.runtime.runtime import Runtime

    settings = configuration.read(configuration.FallbackSettings)
    if settings.engine != "native":
        raise BadSettings(f"--with-fallback shares a GPU, and REFLINK_ENGINE={settings.engine} uses none: run two workers")
    return Runtime(stage_class("fallback")(settings, beside_linker=True), settings)
