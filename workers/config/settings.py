"""Settings of each worker, from environment variables ``REFLINK_<FIELD>`` or a TOML file named by ``REFLINK_CONFIG``.

The environment takes precedence over the file. ``reflink-worker settings`` generates docs/configuration.md from these models.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import SettingsError

from reflink.linking.policy import First, Policy, Profile, Versions
from workers.config.absent import Absent
from workers.config.broker import KafkaSettings as KafkaSettings
from workers.config.broker import Seconds
from workers.config.engine import EngineSearchSettings
from workers.config.indexes import IndexSettings
from workers.errors import BadSettings

Count = Annotated[int, Field(gt=0)]


class WorkerSettings(KafkaSettings):
    """Settings of the runtime, common to all workers."""

    slot: str = Field(
        default_factory=socket.gethostname,
        pattern=r"^[a-zA-Z0-9._-]+$",
        description="Instance id of this process, e.g. a pod's name. It stays the same over restarts, and only one process may "
        "use it at a time. With the worker's name it forms the transactional id. Default: the host's name.",
    )
    state_dir: Path = Field(Path("state"), description="Folder of lock files, journals and the ledger's stores.")
    http_host: str = Field("127.0.0.1", description="Address on which /metrics and /health are served.")
    http_port: int = Field(0, ge=0, le=65535, description="Port of /metrics and /health; 0 selects and logs a free port.")
    batch_records: Count = Field(512, description="Maximum number of records in one batch.")
    batch_bytes: Count = Field(4_000_000, description="Maximum bytes of records in one batch. A single record may have more.")
    batch_tokens: Count = Field(
        131_072,
        description="Maximum encoder tokens in one batch, estimated from its bytes. Only the linker has an encoder.",
    )
    batch_target_s: Seconds = Field(
        1.0,
        description="Target duration of handling a batch. It limits the size of a batch, according to earlier batches.",
    )
    batch_linger_s: float = Field(
        0.02,
        ge=0,
        description="Under load, maximum wait of a record in a batch that is not full. An idle worker does not wait.",
    )
    queue_bytes: Count = Field(
        32_000_000,
        description="Maximum bytes of fetched, unhandled records. Above it the worker pauses partitions and continues to poll.",
    )
    session_timeout_s: Seconds = Field(10.0, description="A worker that sends no heartbeat for this long loses its partitions.")
    revocation_deadline_s: Seconds = Field(
        4.0,
        description="When partitions are revoked, maximum wait for the batch in flight before the worker discards it.",
    )
    drain_deadline_s: Seconds = Field(25.0, description="On SIGTERM, maximum wait for the batch in flight.")
    transaction_timeout_s: Seconds = Field(10.0, description="The broker aborts a transaction that stays open for longer.")
    call_deadline_s: Seconds = Field(
        120.0,
        description="Maximum duration of a call to the broker, and of one batch in a stage; then the process ends with code 7.",
    )
    stall_timeout_s: Seconds = Field(
        300.0, description="If a partition has lag and makes no progress for this long, the process ends with code 7."
    )
    idle_commit_s: Seconds = Field(
        2.0, description="Interval in which an idle worker commits its position after transaction markers."
    )
    lag_interval_s: Seconds = Field(5.0, description="Interval in which the worker measures its lag to the last stable offset.")
    flood_window: Count = Field(1000, description="Number of recent live records among which `flood_share` is measured.")
    flood_share: float = Field(0.05, gt=0, le=1, description="Share of dead letters above which the worker ends with code 6.")
    flood_run: Count = Field(50, description="Consecutive dead letters of live records at which the worker ends with code 6.")
    poison_deaths: Count = Field(
        3, description="Number of crashes with only this record in flight after which it becomes a dead letter."
    )

    @model_validator(mode="after")
    def _deadlines_fit(self) -> Self:
        if self.revocation_deadline_s > self.session_timeout_s / 2:
            raise ValueError(
                f"REFLINK_REVOCATION_DEADLINE_S ({self.revocation_deadline_s:g}) must be at most half of "
                f"REFLINK_SESSION_TIMEOUT_S ({self.session_timeout_s:g}): no heartbeat is sent meanwhile"
            )
        return self


class ParserSettings(WorkerSettings):
    """Settings of the parser."""

    offer_papers: bool = Field(True, description="Add every parsed paper to the catalog, so that it can be cited.")
    infer_fields: bool = Field(True, description="Recognise fields in citations without tags.")
    contexts: bool = Field(False, description="Publish to the topic `contexts` where in its text a paper mentions a reference.")
    pointer_root: Path | None = Field(
        None,
        description="Folder of the files that pointers may name, for papers above the message limit. Unset: no pointers.",
    )
    max_paper_bytes: Count = Field(64_000_000, description="Maximum decompressed size of a paper; others become dead letters.")
    max_depth: int = Field(
        256, ge=8, le=256, description="Maximum nesting of a paper's elements; deeper ones become dead letters."
    )
    max_references: Count = Field(20_000, description="Maximum number of references of a paper; others become dead letters.")


class FollowingSettings(WorkerSettings):
    """Settings of every worker that follows the catalog."""

    follow_share: float = Field(0.2, gt=0, le=1, description="Maximum share of a busy worker's time for following the catalog.")


class CatalogSettings(FollowingSettings):
    """Settings of every worker that searches the catalog."""

    catalog_snapshot: Path | None = Field(
        None,
        description="Folder of the catalog snapshot to start from, or `DIR/current`, the newest of `reflink-worker snapshot`. "
        "Unset: the worker reads the catalog topic from its beginning.",
    )
    catalog_copy: Path | None = Field(
        None,
        description="Folder, used by this worker only, to which the snapshot is copied before it is opened. For snapshots "
        "on NFS, where deleting a file also removes it for its readers. Unset: the snapshot is mapped in place.",
    )
    verify_snapshot: bool = Field(
        True, description="Read the whole snapshot at the start and compare checksums: 0.2 s for 500 MB in memory."
    )


class VerdictSettings(CatalogSettings, EngineSearchSettings):
    """Settings on which linker and fallback must agree: the probability required for a link, and the source of candidates."""

    min_probability: float = Field(
        Policy().accept, gt=0, le=1,
        description="Profile `production`: minimum probability of a link. Linker and fallback need the same value.",
    )  # fmt: skip
    link_precision: float | None = Field(
        None, gt=0, lt=1,
        description="Instead of `min_probability`: the required share of correct links, e.g. 0.997. The minimum probability "
        "follows from measured rates of links and the share of absent works (docs/accuracy.md).",
    )  # fmt: skip
    versions: Versions = Field(
        Policy().versions,
        description="Profile `production`, where the best candidate is another version of the cited work: `report` names it in "
        "`link.related` without a link; `link` links to it if it is the same work, not an erratum, comment or other "
        "instalment. Linker and fallback need the same value.",
    )

    first_search: First = Field(
        Policy().first,
        description="The index that the linker searches; the fallback searches the other one. `vectors`: for a linker with a "
        "GPU. `trigrams`: for CPUs: only the references that trigrams leave open are encoded (docs/semantic.md); not for "
        "profile `paper`. Without effect with a search engine. Linker and fallback need the same value.",
    )

    @model_validator(mode="after")
    def _requests_fit(self) -> Self:
        if 4 * self.engine_timeout_s > self.call_deadline_s:
            raise ValueError("REFLINK_ENGINE_TIMEOUT_S must be at most a quarter of REFLINK_CALL_DEADLINE_S")
        return self

    @property
    def first(self) -> First:
        """The value of `Policy.first`: that of ``first_search``, unless a search engine takes the place of both indexes."""
        return self.first_search if self.engine == "native" else "vectors"

    def check_precision(self, absent: float = Policy().absent) -> None:
        """Raise BadSettings if no links reach ``link_precision`` where a share ``absent`` of the works is absent."""
        if self.link_precision is None:
            return
        # Importing the verdict imports numba, which most workers do not need for their settings.
        from reflink.verdict.judge import shipped
        from reflink.verdict.rates import highest

        if (best := highest(shipped().rates, absent)) < self.link_precision:
            raise BadSettings(
                f"REFLINK_LINK_PRECISION: no links have a precision of {self.link_precision:g}: the highest is {best:g}"
            )


class SearchSettings(VerdictSettings, IndexSettings):
    """Settings of linker and fallback, each of which searches one of the two indexes (``first_search``)."""


class LinkerSettings(SearchSettings):
    """Settings of the linker, which decides references by identifiers and the semantic stage."""

    profile: Profile = Field("production", description="`paper`: the method as published. `production`: the verdict decides.")
    threshold: float = Field(0.7959, ge=-1, le=1, description="Profile `paper`: minimum cosine of a link.")
    absent: Absent = Field(
        Policy().absent,
        description="Share of references whose work is not in the catalog. A larger share makes every link less probable. "
        "`auto`: the shares by source that the ledger estimates from the stream, at least one half (docs/continuous.md).",
    )
    sure: float = Field(
        Policy().sure, gt=0, le=1,
        description="Profile `production`: minimum probability at which the linker links without the fallback.",
    )  # fmt: skip
    refuse: float = Field(
        Policy().refuse, ge=0, lt=1,
        description="Profile `production`: below this probability the linker decides without the fallback that a work is "
        "not in the catalog, for references with a title, a volume and a first page.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _engine_fits(self) -> Self:
        if self.engine != "native" and self.profile == "paper":
            raise ValueError("REFLINK_PROFILE=paper requires REFLINK_ENGINE=native")
        if self.first != "vectors" and self.profile == "paper":
            raise ValueError("REFLINK_PROFILE=paper requires REFLINK_FIRST_SEARCH=vectors")
        if self.first == "trigrams" and self.search_device.startswith("cuda"):
            raise ValueError("with REFLINK_FIRST_SEARCH=trigrams a linker searches on the CPU: set REFLINK_SEARCH_DEVICE=auto")
        return self


class FallbackSettings(SearchSettings):
    """Settings of the fallback, which decides the references that the linker left open, by the other index."""


class LedgerSettings(FollowingSettings):
    """Settings of the ledger. Its stores and its log of changes are in ``state_dir``."""

    wakes_per_s: float = Field(
        500.0,
        gt=0,
        description="Maximum references per second that a ledger re-evaluates after catalog changes. The others wait, also "
        "over restarts.",
    )
    wake_probability: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Minimum probability of the verdict for a changed work and a reference at which the reference is "
        "re-evaluated, if it neither cites the work nor has its identifier. 0: every reference with a common blocking key.",
    )
    sweep_per_s: float = Field(
        10.0,
        ge=0,
        description="References per second that a ledger's sweep re-evaluates while no catalog change is pending; 0: no sweep.",
    )
    sweep_every_h: float = Field(
        24.0,
        ge=0,
        description="Minimum hours between the starts of two sweeps. None starts unless an outcome is older than the last one.",
    )


S = TypeVar("S", bound=KafkaSettings)


def read(model: type[S], **overrides: Any) -> S:
    """Read settings from environment and file. Raises BadSettings with the variable's name but without the invalid value."""
    try:
        return model(**overrides)
    except SettingsError as error:
        raise BadSettings(f"settings cannot be read: {error}") from None
    except ValidationError as error:
        problems = [
            f"REFLINK_{'_'.join(map(str, problem['loc'])).upper()}: {problem['msg']}" if problem["loc"] else problem["msg"]
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise BadSettings("; ".join(re.sub(r"^Value error, ", "", problem) for problem in problems)) from None
