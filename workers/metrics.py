"""Every metric, declared once. Observed after a transaction committed, so that a retried batch counts once.

docs/metrics.md is generated from this module by ``reflink-worker metrics``.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

# One series more for each counter and histogram, with the time it was made; reflink_start_timestamp_seconds says it once.
disable_created_metrics()  # type: ignore[no-untyped-call]

_FINE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LONG_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 512, 1024, 4096, 16384, 65536)
_SCORES = tuple(step / 20 for step in range(21))
_PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)

# Throughput: records read (committed) and written, by topic without prefix.
RECORDS_IN = Counter("reflink_records_in_total", "Records consumed and committed.", ["topic"])
RECORDS_OUT = Counter("reflink_records_out_total", "Records produced and committed.", ["topic"])
# How full the micro-batches are; tokens are those of the encoder and only the linker has them.
BATCH_RECORDS = Histogram("reflink_batch_records", "Records in one batch.", buckets=_SIZES)
BATCH_TOKENS = Histogram("reflink_batch_tokens", "Encoder tokens in one batch, padding not counted.", buckets=_SIZES)
# What the policy has learnt: the most a batch may have, and what the last one was expected to take; see "handle" for the truth.
BATCH_BUDGET_BYTES = Gauge("reflink_batch_budget_bytes", "Most bytes of a batch, as learnt from the batches before.")
BATCH_EXPECTED_SECONDS = Gauge("reflink_batch_expected_seconds", "Seconds that the last batch was expected to take.")
# Where the time goes: wait (for records), follow (the catalog), handle (decoding included), chore (what no record asks for,
# without its commit), commit.
STAGE_SECONDS = Histogram("reflink_stage_seconds", "Seconds spent in one step of one batch.", ["step"], buckets=_FINE_SECONDS)
# Where handling's time goes: decode (events), text, tokens, model, search, verdict, encode (events).
HANDLE_SECONDS = Counter("reflink_handle_seconds_total", "Seconds of handling committed batches, by what was done.", ["step"])
# The promise to users, kept by the ledger alone: from the paper's arrival on its topic to the commit of its link. live is no
# for what was a dead letter and is replayed. The alerts' objective needs a bound at 30 s (helm/reflink/rules/objective.yaml).
END_TO_END_SECONDS = Histogram(
    "reflink_end_to_end_seconds",
    "Seconds from a paper's arrival to the commit of an event of it.",
    ["live"],
    buckets=_LONG_SECONDS,
)
# What comes out. reason is empty for a link, method is empty for none.
OUTCOMES = Counter("reflink_outcomes_total", "Outcomes of references.", ["method", "reason"])
# Why: the phrases of outcomes, of reflink.verdict.reasons.VOCABULARY. linked is yes or no.
REASONS = Counter("reflink_reasons_total", "Reasons given for outcomes.", ["reason", "linked"])
PROBABILITIES = Histogram(
    "reflink_probability", "The verdict's probability of the outcome's best candidate.", ["linked"], buckets=_PROBABILITIES
)
SCORES = Histogram("reflink_score", "Score of the outcome's best candidate.", ["method"], buckets=_SCORES)
# What the ledger did with them: published, unchanged, late (an older version), gone (tombstone), withdrawn (the cited work is
# gone), overridden (as a curator says), too-large (for its topic, so neither published nor judged again).
LEDGER_DECISIONS = Counter("reflink_ledger_decisions_total", "What became of outcomes in the ledger.", ["decision"])
# Why the ledger sent references to be judged again: change (of the catalog), withdrawal (of the cited work), late (the outcome
# did not know a change), override, sweep.
JUDGED_AGAIN = Counter("reflink_judged_again_total", "References that the ledger sent to be judged again.", ["why"])
# What a late work costs in time; only of links that it changed.
WAKE_SECONDS = Histogram(
    "reflink_wake_seconds", "From a change in the catalog topic to the publication of what it changed.", buckets=_LONG_SECONDS
)
# A ledger that falls behind wakes late; what is far behind was a bulk load.
CHANGES_BEHIND = Gauge(
    "reflink_ledger_changes_behind_records", "Records of the catalog topic that the ledger's references were not compared with."
)
# Lag to the last stable offset: what autoscaling reads.
LAG = Gauge("reflink_lag_records", "Records between the committed position and the last stable offset.", ["topic", "partition"])
# The catalog as this worker sees it.
CATALOG_OFFSET = Gauge("reflink_catalog_offset", "Version of the catalog: next offset of its topic.")
# As the last fetch told the end: nobody is asked for it.
CATALOG_LAG = Gauge("reflink_catalog_lag_records", "Records between this worker's catalog and the end of the catalog topic.")
# Of the folder that the next start opens, looked at again every minute: an old one is refused (workers/snapshots.py).
CATALOG_SNAPSHOT = Gauge(
    "reflink_catalog_snapshot_timestamp_seconds",
    "When the snapshot that the next start opens was made, in seconds since 1970; 0 without a usable one.",
)
CATALOG_SNAPSHOT_EXPECTED = Gauge(
    "reflink_catalog_snapshot_expected", "1 where the settings name a folder of a snapshot, else 0."
)
# What this worker began with: its snapshot, the one before it as that was unusable, or the topic from its beginning.
CATALOG_SOURCE = Gauge("reflink_catalog_source", "1 for what the catalog was opened from, 0 for the others.", ["source"])
CATALOG_WORKS = Gauge("reflink_catalog_works", "Works in the catalog.")
# A model that returns no direction for a text; the work is found by its identifiers only.
CATALOG_WITHOUT_VECTOR = Counter(
    "reflink_catalog_without_vector_total", "Works taken in without a vector: the model gave none."
)
# Trouble.
DEAD_LETTERS = Counter("reflink_dead_letters_total", "Records sent to the dead letters, by error.", ["reason"])
REBALANCES = Counter("reflink_rebalances_total", "Times partitions were assigned, revoked or lost.", ["kind"])
TRANSACTIONS = Counter("reflink_transactions_total", "Transactions, by how they ended.", ["end"])
LAST_COMMIT = Gauge(
    "reflink_last_commit_timestamp_seconds", "When a transaction was last committed, in seconds since 1970; 0 before the first."
)
# The ledger's store lies there, and every worker's journal; a full disk ends the ledger with exit code 10.
STATE_FREE_BYTES = Gauge("reflink_state_free_bytes", "Bytes free for this worker where its state folder lies.")
STATE_SIZE_BYTES = Gauge("reflink_state_size_bytes", "Bytes of the file system where the state folder lies.")
# Memory of the accelerator; 0 without one.
GPU_MEMORY_BYTES = Gauge("reflink_gpu_memory_bytes", "GPU memory held by this worker.")
GPU_MEMORY_TOTAL_BYTES = Gauge("reflink_gpu_memory_total_bytes", "GPU memory that there is, of all devices this worker sees.")
# Halved when memory runs out, on a GPU or not, and grown back later: a budget that stays low means that passes are too small.
ENCODER_TOKEN_BUDGET = Gauge("reflink_encoder_token_budget", "Most tokens in one pass through the encoder, as it is now.")
ENCODER_OUT_OF_MEMORY = Counter("reflink_encoder_out_of_memory_total", "Passes through the encoder that found no memory.")
# 1 while the worker has joined its group and its catalog is warm.
READY = Gauge("reflink_ready", "Whether the worker is ready.")
# Who this is. The start time tells restarts, which a fast worker goes through between two scrapes.
START_TIME = Gauge("reflink_start_timestamp_seconds", "When this worker began, in seconds since 1970.")
BUILD_INFO = Gauge("reflink_build_info", "1, with the version of reflink.", ["version"])
MODEL_INFO = Gauge("reflink_model_info", "1, with the encoder of works; only the linker has one.", ["model", "precision"])
