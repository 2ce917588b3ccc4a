"""Declarations of all metrics. Workers update them after a transaction commits, so a repeated batch counts once.

docs/metrics.md is generated from this module by ``reflink-worker metrics``.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

# The created metrics add a series with the creation time per counter and histogram; reflink_start_timestamp_seconds suffices.
disable_created_metrics()  # type: ignore[no-untyped-call]

_FINE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LONG_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 512, 1024, 4096, 16384, 65536)
_SCORES = tuple(step / 20 for step in range(21))
_PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)

# Throughput: records read (committed) and written, by topic without prefix.
RECORDS_IN = Counter("reflink_records_in_total", "Records consumed and committed.", ["topic"])
RECORDS_OUT = Counter("reflink_records_out_total", "Records produced and committed.", ["topic"])
# Size of the batches; only the worker that searches vectors has an encoder and counts tokens.
BATCH_RECORDS = Histogram("reflink_batch_records", "Records in one batch.", buckets=_SIZES)
BATCH_TOKENS = Histogram("reflink_batch_tokens", "Encoder tokens in one batch, padding not counted.", buckets=_SIZES)
# Estimates of the batch policy: maximum batch size, and expected time of the last batch; step "handle" has the actual time.
BATCH_BUDGET_BYTES = Gauge("reflink_batch_budget_bytes", "Maximum bytes of a batch, estimated from earlier batches.")
BATCH_EXPECTED_SECONDS = Gauge("reflink_batch_expected_seconds", "Expected seconds of handling the last batch.")
# Time by step: wait (for records), follow (the catalog), handle (including decoding), chore (a background task without its
# commit), commit.
STAGE_SECONDS = Histogram("reflink_stage_seconds", "Seconds spent in one step of one batch.", ["step"], buckets=_FINE_SECONDS)
# Time of handling by step: decode (events), text, tokens, model, search, verdict, encode (events).
HANDLE_SECONDS = Counter("reflink_handle_seconds_total", "Seconds of handling committed batches, by step.", ["step"])
# The service level for users, measured by the ledger only: from the paper's arrival on its topic to the commit of its link.
# live is "no" for replayed dead letters. The alerts' objective needs a bound at 30 s (helm/reflink/rules/objective.yaml).
END_TO_END_SECONDS = Histogram(
    "reflink_end_to_end_seconds",
    "Seconds from a paper's arrival to the commit of an event about it.",
    ["live"],
    buckets=_LONG_SECONDS,
)
PAPERS = Counter("reflink_parsed_papers_total", "Papers parsed, by their format.", ["format"])
# Fields of parsed references: tagged, recognised (in the text), unrecognised, unread (the paper exceeds the limit on text that
# is read; reflink/bibliography/references.py).
PARSED = Counter("reflink_parsed_references_total", "References parsed, by the origin of their fields.", ["fields"])
# Outcomes. reason is empty for a link; method is empty without a link.
OUTCOMES = Counter("reflink_outcomes_total", "Outcomes of references.", ["method", "reason"])
# Reasons: the phrases of outcomes, from reflink.verdict.reasons.VOCABULARY. linked is yes or no.
REASONS = Counter("reflink_reasons_total", "Reasons given for outcomes.", ["reason", "linked"])
PROBABILITIES = Histogram(
    "reflink_probability", "The verdict's probability of the outcome's best candidate.", ["linked"], buckets=_PROBABILITIES
)
# The share of references whose work is absent from the catalog, which the linker assumes and the ledger estimates. source is
# "all", or the registrant of the citing papers' DOIs for at most 16 sources with most references.
ABSENT_SHARE = Gauge("reflink_absent_share", "Share of absent works in use.", ["source"])
ABSENT_ESTIMATE = Gauge("reflink_absent_share_estimate", "Estimated share of absent works.", ["source"])
ABSENT_REFERENCES = Gauge(
    "reflink_absent_share_references",
    "References behind the estimate, older ones with a smaller weight.",
    ["source"],
)
SCORES = Histogram("reflink_score", "Score of the outcome's best candidate.", ["method"], buckets=_SCORES)
# What the ledger did with an outcome: published, unchanged, late (an older version), gone (tombstone), withdrawn (the cited
# work is gone), overridden (by a curator), too-large (for its topic, so neither published nor re-evaluated).
LEDGER_DECISIONS = Counter("reflink_ledger_decisions_total", "Decisions of the ledger on outcomes.", ["decision"])
# Causes of re-evaluation: change (of the catalog), withdrawal (of the cited work), late (the outcome was decided without a
# change), override, sweep.
JUDGED_AGAIN = Counter("reflink_judged_again_total", "References that the ledger sent to be re-evaluated.", ["why"])
# Delay until a catalog change takes effect; only for links that it changed.
WAKE_SECONDS = Histogram(
    "reflink_wake_seconds",
    "Seconds from a change in the catalog topic to the publication of a link that it changed.",
    buckets=_LONG_SECONDS,
)
# A ledger with a backlog propagates changes late; a large backlog comes from a bulk load.
CHANGES_BEHIND = Gauge(
    "reflink_ledger_changes_behind_records",
    "Records of the catalog topic with which the ledger has not yet compared its references.",
)
# Lag to the last stable offset, which autoscaling reads.
LAG = Gauge("reflink_lag_records", "Records between the committed position and the last stable offset.", ["topic", "partition"])
# Records that an open transaction holds back, which lag does not include. If the seconds exceed the transaction timeout and the
# interval of the broker's check for timeouts, the transaction hangs.
OPEN_TRANSACTION_RECORDS = Gauge(
    "reflink_open_transaction_records",
    "Records between the last stable offset and the end of an input partition.",
    ["topic", "partition"],
)
OPEN_TRANSACTION_SECONDS = Gauge(
    "reflink_open_transaction_seconds",
    "Seconds for which the last stable offset has not moved although records follow it.",
    ["topic", "partition"],
)
# The catalog of this worker. Of two stages in one process, offset and lag are those of the stage that is behind.
CATALOG_OFFSET = Gauge("reflink_catalog_offset", "Version of the catalog: next offset of its topic.")
# The end of the topic comes from the last fetch response, without a request.
CATALOG_LAG = Gauge("reflink_catalog_lag_records", "Records between this worker's catalog and the end of the catalog topic.")
# The snapshot that the next start opens, checked every minute: a start refuses an old one (catalog/snapshot_opening.py).
CATALOG_SNAPSHOT = Gauge(
    "reflink_catalog_snapshot_timestamp_seconds",
    "Creation time of the snapshot that the next start opens, in seconds since 1970; 0 without a usable one.",
)
CATALOG_SNAPSHOT_EXPECTED = Gauge("reflink_catalog_snapshot_expected", "1 if the settings name a folder of snapshots, else 0.")
# What the worker started from: its snapshot, the previous one if that was unusable, or the topic from its beginning.
CATALOG_SOURCE = Gauge(
    "reflink_catalog_source", "1 for the source from which the catalog was opened, 0 for the others.", ["source"]
)
CATALOG_WORKS = Gauge("reflink_catalog_works", "Works in the catalog.")
# The model returned a vector without a direction (zero or not finite); only identifiers find such a work.
CATALOG_WITHOUT_VECTOR = Counter(
    "reflink_catalog_without_vector_total", "Works added without a vector, because the model returned none."
)
CATALOG_LATE_VECTORS = Gauge(
    "reflink_catalog_late_vectors", "Works added without a vector and not encoded yet: a fallback worker that searches vectors."
)
# The search engine. request: search, watermark, bulk, refresh, index. While a batch waits for a service, its lag grows.
ENGINE_SECONDS = Histogram(
    "reflink_engine_request_seconds", "Seconds of a request to the search engine.", ["request"], buckets=_FINE_SECONDS
)
ENGINE_FAILURES = Counter(
    "reflink_engine_failures_total", "Requests that the search engine did not answer, or not in time.", ["request"]
)
ENGINE_OFFSET = Gauge("reflink_engine_offset", "Version of the catalog that the search engine has: next offset of its topic.")
ENGINE_REFUSED = Counter("reflink_engine_refused_works_total", "Works that the search engine refused; only keys find them.")
SERVICE_UNAVAILABLE_SECONDS = Gauge(
    "reflink_service_unavailable_seconds", "Seconds for which a batch has waited for a service beside Kafka; 0 if none waits."
)
# Failures.
DEAD_LETTERS = Counter(
    "reflink_dead_letters_total",
    "Records sent to the dead letters, by source topic and error.",
    ["topic", "reason"],
)
REBALANCES = Counter("reflink_rebalances_total", "Assignments, revocations and losses of partitions.", ["kind"])
TRANSACTIONS = Counter("reflink_transactions_total", "Transactions, by their end.", ["end"])
LAST_COMMIT = Gauge(
    "reflink_last_commit_timestamp_seconds",
    "Time of the last committed transaction, in seconds since 1970; 0 before the first.",
)
# The state folder holds the ledger's store and every worker's journal; a full disk ends the ledger with exit code 10.
STATE_FREE_BYTES = Gauge("reflink_state_free_bytes", "Free bytes for this worker on the file system of its state folder.")
STATE_SIZE_BYTES = Gauge("reflink_state_size_bytes", "Bytes of the file system of the state folder.")
# Memory of the accelerator; 0 without one.
GPU_MEMORY_BYTES = Gauge("reflink_gpu_memory_bytes", "GPU memory allocated by this worker.")
GPU_MEMORY_TOTAL_BYTES = Gauge("reflink_gpu_memory_total_bytes", "Total memory of all GPUs that this worker sees.")
# Trigrams on the GPU of a fallback. Later segments that do not fit stay on the CPU: the same results, slower.
TRIGRAMS_ON_GPU = Gauge("reflink_trigrams_on_gpu_texts", "Texts whose trigrams the GPU searches; the CPU searches the others.")
TRIGRAMS_REFUSED = Gauge("reflink_trigrams_refused_texts", "Texts that the CPU searches because the GPU has no room for them.")
# The encoder halves the budget when memory runs out, on any device, and later restores it. A persistently low budget means
# that the passes are too small.
ENCODER_TOKEN_BUDGET = Gauge("reflink_encoder_token_budget", "Current maximum of tokens in one pass through the encoder.")
ENCODER_OUT_OF_MEMORY = Counter("reflink_encoder_out_of_memory_total", "Passes through the encoder that ran out of memory.")
# 1 while the worker has joined its group and has loaded its catalog.
READY = Gauge("reflink_ready", "Whether the worker is ready.")
# Identity of the process. The start time reveals restarts that happen between two scrapes.
START_TIME = Gauge("reflink_start_timestamp_seconds", "Start time of this worker, in seconds since 1970.")
BUILD_INFO = Gauge("reflink_build_info", "1, with the version of reflink.", ["version"])
MODEL_INFO = Gauge(
    "reflink_model_info", "1, with the encoder of works; only a worker that searches vectors has it.", ["model", "precision"]
)
