"""Coverage-guided fuzzing with atheris, in a separate process, because libFuzzer ends the process in which it runs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.campaigns.fuzz import hostile

#: Maximum length of an input in bytes: small inputs are enough to reach new paths of a parser.
LONGEST: Final = 6_000
_SEEDS: Final = 400


class NoAtheris(Exception):
    """atheris is not installed."""


def guided(articles: Path | None, *, seed: int, runs: int, minutes: float | None, finds: Path) -> dict[str, Any]:
    """Run atheris and return the summary. Raises NoAtheris."""
    if importlib.util.find_spec("atheris") is None:
        raise NoAtheris("atheris is not installed: pip install 'atheris>=3.0', or the extra 'fuzz'")
    with tempfile.TemporaryDirectory(prefix="reflink-fuzz-") as folder:
        corpus, words, report = Path(folder) / "corpus", Path(folder) / "words.txt", Path(folder) / "report.json"
        corpus.mkdir()
        write_seeds(articles, corpus, seed)
        words.write_text(dictionary())
        command = [sys.executable, "-m", "tests.campaigns.fuzz.guided_target", str(report), str(finds), str(corpus)]
        command += [f"-dict={words}", f"-runs={runs}", f"-seed={seed}", f"-max_len={LONGEST}", f"-artifact_prefix={finds}/"]
        command += ["-timeout=60", "-rss_limit_mb=0", "-print_final_stats=1", "-detect_leaks=0"]
        command += [f"-max_total_time={int(60 * minutes)}"] if minutes else []
        finds.mkdir(parents=True, exist_ok=True)
        start = time.monotonic()
        # Without its compiler, numba runs its kernels as Python, whose coverage atheris can measure.
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore::RuntimeWarning"}
        code = subprocess.run(command, check=False, env=environment).returncode
        summary: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {"inputs": 0, "finds": {}}
        seconds = time.monotonic() - start
        if code:
            summary["finds"]["crash"] = 1
        return {"seed": seed, "exit_code": code, "seconds": round(seconds, 1)} | summary | {
            "inputs_per_second": round(summary["inputs"] / seconds, 1), "corpus": len(list(corpus.iterdir()))
        }  # fmt: skip


def write_seeds(articles: Path | None, folder: Path, seed: int) -> None:
    """Write small articles as the initial corpus, one file each."""
    from tests.campaigns.fuzz.seeds import Corpus

    corpus, rng = Corpus.read(articles, every=5 if articles else 1), Random(seed)
    for number in range(_SEEDS):
        data = corpus.cut(rng)
        if len(data) <= LONGEST:
            (folder / f"{number}.xml").write_bytes(data)


def dictionary() -> str:
    """Return the words of the language as a libFuzzer dictionary."""
    words = [f"<{name}>" for name in hostile.NAMES] + [f"</{name}>" for name in hostile.NAMES]
    words += [*hostile.ATTRIBUTES, *hostile.CHARACTER_REFERENCES, *hostile.IDENTIFIERS, *hostile.FRAGMENTS, *hostile.BAIT]
    encoded = (word.encode(errors="surrogatepass") for word in dict.fromkeys(words) if len(word) <= 60)
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in encoded)
