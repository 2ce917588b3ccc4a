"""Several stages in one process. Each has its own runtime: consumer group, transactions, journal, threads and drain.

They share the server of probes and metrics, and they load in their order, so that each measures the free memory of a GPU after
those before it have taken theirs. The first stage that ends, ends all: the others drain, and the process reports its error.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from workers.config.settings import WorkerSettings
from workers.runtime.exclusive_handling import ExclusiveHandling
from workers.runtime.runtime import Runtime
from workers.telemetry import metrics
from workers.telemetry.http_server import HealthServer

#: Seconds after which a request to stop is noticed.
_LOOK_S: Final = 0.1


class LoadOrder:
    """The order in which stages load. ``names``: the stages in this order."""

    def __init__(self, names: Iterable[str]) -> None:
        self._to_load = list(names)
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Load within, once the stages before this one have loaded. If one of them fails, the process ends, and this waits."""
        with self._changed:
            self._changed.wait_for(lambda: name == self._to_load[0])
        yield
        with self._changed:
            self._to_load.remove(name)
            self._changed.notify_all()


class Together:
    """Runs these runtimes until ``stop`` is called or one of them ends. ``settings``: the address of the server."""

    #: As of a Runtime: stopping needs no exception, because ``run`` does not wait for a stage that is still loading.
    warming = False

    def __init__(self, runtimes: Sequence[Runtime], settings: WorkerSettings) -> None:
        self.runtimes, self.settings = runtimes, settings
        self._ready = {runtime.stage.name: False for runtime in runtimes}
        #: Runtimes that have ended, and their errors.
        self._ended: queue.Queue[tuple[Runtime, BaseException | None]] = queue.Queue()
        self._stopping = threading.Event()
        #: Port of /metrics and /health; None before the server has started.
        self.health_port: int | None = None
        order, exclusive = LoadOrder(self._ready), ExclusiveHandling()
        for runtime in runtimes:
            name = runtime.stage.name
            runtime.loading, runtime.exclusive = order.turn(name), exclusive
            runtime.show_ready = self._shows(name)

    def stop(self) -> None:
        """Drain all stages: ``run`` returns when their batches in flight are committed."""
        self._stopping.set()
        for runtime in self.runtimes:
            runtime.stop()

    def run(self) -> None:
        """Run the stages. Raises the error of the first one that failed, after the others have drained."""
        health = HealthServer(self.settings.http_host, self.settings.http_port, live=self.live, ready=self.ready)
        health.start()
        self.health_port = health.port
        try:
            for each in self.runtimes:
                threading.Thread(target=self._run, args=(each,), name=each.stage.name, daemon=True).start()
            self._wait()
        finally:
            health.stop()

    def _run(self, runtime: Runtime) -> None:
        error: BaseException | None = None
        try:
            runtime.run_stage()
        except BaseException as raised:
            error = raised
        self._ended.put((runtime, error))

    def _wait(self) -> None:
        failure: BaseException | None = None
        left = list(self.runtimes)
        # A stage that is still loading has nothing to drain, and its thread ends with the process.
        while any(not each.warming or not self._stopping.is_set() for each in left):
            try:
                runtime, error = self._ended.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            left.remove(runtime)
            failure = failure or error
            self.stop()
        if failure is not None:
            raise failure

    def _shows(self, name: str) -> Callable[[bool], None]:
        def show(ready: bool) -> None:
            self._ready[name] = ready
            metrics.READY.set(all(self._ready.values()))

        return show

    def live(self) -> tuple[bool, dict[str, Any]]:
        """Return whether no stage needs a restart, and the facts of each stage."""
        found = {each.stage.name: each.live() for each in self.runtimes}
        return all(well for well, _ in found.values()), {name: facts for name, (_, facts) in found.items()}

    def ready(self) -> tuple[bool, dict[str, Any]]:
        """Return whether all stages handle records, and the facts of each stage."""
        found = {each.stage.name: each.ready() for each in self.runtimes}
        return all(well for well, _ in found.values()), {name: facts for name, (_, facts) in found.items()}
