"""Train CIFAL and the variants of its ablation.

    python -m reflink.recognition.cifal.training --anystyle core.xml.gz --grobid citation_corpus.tar.gz \
        --jats FOLDER --manifest MANIFEST.tsv --out FOLDER --seeds 1 2
    python -m benchmarks.parsing.cifal FOLDER

Variants (the paper's Table 3): ``fine-tune`` without the task-guided stage, ``anchor`` and ``random`` with it. Each gives a
file VARIANT-SEED.safetensors in the folder. The first seed decides samples, anchors and the task-guided stage; all seeds
fine-tune. A stage whose file exists is not run again, so an interrupted run continues; other settings need another folder.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch

from reflink.errors import ReflinkError
from reflink.recognition.cifal.anchors import anchors
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.finetuning import finetune
from reflink.recognition.cifal.masking import guide
from reflink.recognition.cifal.pieces import Pieced, WordPieces
from reflink.recognition.cifal.samples import Samples, Sources, draw
from reflink.recognition.cifal.selector import fit, select
from reflink.recognition.cifal.tagger import CifalTagger
from reflink.recognition.labelled import Labelled
from reflink.recognition.labels import V
from reflink.recognition.tokens import tokenise

VARIANTS: Final = ("fine-tune", "anchor", "random")
#: Labelled citations: as many as the paper's training set.
LABELS: Final = 1500
GENERATED: Final = 3000
EPOCHS: Final = 4
SELECTOR_EPOCHS: Final = 3
#: Labelled citations whose anchors are measured: one pass of the network for each word of their venues.
MEASURED: Final = 750
FROZEN: Final = 4


class Experiment:
    """The stages of one folder. ``settings`` describes them; a folder of other settings raises ReflinkError."""

    def __init__(self, out: Path, samples: Samples, encoder: Path, settings: dict[str, Any], device: torch.device) -> None:
        self._out, self._samples, self._settings, self._device = out, samples, settings, device
        self._pieces = WordPieces(encoder)
        self._pretrained = Encoder.load(encoder, settings["frozen"]).to(device)
        self._folder = encoder
        out.mkdir(parents=True, exist_ok=True)
        noted = out / "settings.json"
        if noted.exists() and json.loads(noted.read_text()) != settings:
            raise ReflinkError(f"{noted}: the folder has an experiment of other settings: name another one")
        noted.write_text(json.dumps(settings, indent=1))

    def tagger(self, variant: str, seed: int) -> CifalTagger:
        """Return the tagger of a variant, trained now or read from its file."""
        path = self._out / f"{variant}-{seed}.safetensors"
        if not path.exists():
            print(f"{variant}, seed {seed}: fine-tuning", flush=True)
            network = finetune(
                self._pretrained if variant == "fine-tune" else self.guided(variant),
                self._pieced(self._samples.task), self._pieced(self._samples.validation), self._pieces.marks,
                epochs=self._settings["epochs"], seed=seed, report=_say,
            )  # fmt: skip
            _atomic(path, CifalTagger(network, self._pieces).save)
        return CifalTagger.load(path, self._folder, self._device)

    def guided(self, variant: str) -> Encoder:
        """Return the encoder after the task-guided stage with ``anchor`` or ``random`` masking."""
        from safetensors.torch import load_file, save_file

        path = self._out / f"guided-{variant}.safetensors"
        if not path.exists():
            anchored = self.anchored()
            print(f"{variant}: task-guided stage", flush=True)
            encoder = guide(
                self._pretrained, self._pieced(self._samples.generated), anchored, self._pieces.marks,
                by_anchors=variant == "anchor", epochs=1, seed=self._settings["seed"], report=_say,
            )  # fmt: skip
            learnt = {name: value.detach() for name, value in encoder.named_parameters() if value.requires_grad}
            _atomic(path, lambda partial: save_file(learnt, partial))
        encoder = Encoder.load(self._folder, self._settings["frozen"])
        encoder.load_state_dict(load_file(path), strict=False)
        return encoder.to(self._device)

    def anchored(self) -> list[frozenset[int]]:
        """Return the anchors of the generated citations, found by a selector that learnt those of labelled ones."""
        path = self._out / "anchors.json"
        if not path.exists():
            seed = self._settings["seed"]
            basic = self.tagger("fine-tune", seed)
            task = self._pieced(self._samples.task[:: max(len(self._samples.task) // MEASURED, 1)])
            print(f"anchors of {len(task)} labelled citations", flush=True)
            learnt = anchors(basic.network, task, self._pieces.marks)
            selector = fit(self._pretrained, task, learnt, self._pieces.marks, epochs=SELECTOR_EPOCHS, seed=seed)
            found = select(selector, self._pieced(self._samples.generated), self._pieces.marks)
            described = describe(self._samples.generated, found)
            described["anchors_of_a_labelled_citation"] = sum(map(len, learnt)) / len(task)
            text = json.dumps({**described, "anchors": [sorted(own) for own in found]})
            _atomic(path, lambda partial: partial.write_text(text))
            print(json.dumps(described, ensure_ascii=False), flush=True)
        return [frozenset(own) for own in json.loads(path.read_text())["anchors"]]

    def _pieced(self, citations: Sequence[Labelled]) -> list[Pieced]:
        return [self._pieces(tokenise(citation.text), citation.labels) for citation in citations]


def describe(citations: Sequence[Labelled], found: Sequence[frozenset[int]]) -> dict[str, Any]:
    """Return the mean number of anchors, the share of them in venues, and the most frequent ones with their numbers."""
    words: Counter[str] = Counter()
    venues = 0
    for citation, own in zip(citations, found, strict=True):
        tokens = tokenise(citation.text).words
        words.update(tokens[at] for at in own)
        venues += sum(citation.labels[at] == V for at in own)
    return {
        "anchors_of_a_generated_citation": words.total() / max(len(citations), 1),
        "share_in_venues": venues / max(words.total(), 1), "most_frequent": words.most_common(12),
    }  # fmt: skip


def _default_encoder() -> Path:
    from reflink.semantic.encoder.model import default_folder  # above this package: only the command looks for it

    return default_folder()


def _say(line: str) -> None:
    print(f"  {line}", flush=True)


def _atomic(path: Path, write: Any) -> None:
    """Write a file under another name first, so that an interrupted run leaves no partial file."""
    partial = path.with_name(f"partial-{path.name}")
    write(partial)
    partial.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m reflink.recognition.cifal.training", description="Trains CIFAL.")
    parser.add_argument("--anystyle", type=Path, required=True, help="gzip-compressed XML of AnyStyle")
    parser.add_argument("--grobid", type=Path, required=True, help="tar of the TEI of grobid's citation corpus")
    parser.add_argument("--jats", type=Path, required=True, help="folder of JATS articles")
    parser.add_argument("--manifest", type=Path, required=True, help="table with the columns file and publisher")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--encoder", type=Path, help="folder of a BERT (default the semantic stage's MiniLM)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--labels", type=int, default=LABELS, help="labelled citations to learn from")
    parser.add_argument("--generated", type=int, default=GENERATED, help="citations of the task-guided stage")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of fine-tuning")
    parser.add_argument("--frozen", type=int, default=FROZEN, help="layers of the encoder that do not learn")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)  # more threads change the order of sums and so the results
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    settings = {
        "seed": args.seeds[0], "labels": args.labels, "generated": args.generated, "epochs": args.epochs, "frozen": args.frozen,
    }  # fmt: skip
    samples = draw(Sources(args.anystyle, args.grobid, args.jats, args.manifest), args.labels, args.generated, args.seeds[0])
    print(f"{len(samples.task)} labelled, {len(samples.validation)} validation, {len(samples.generated)} generated citations")
    experiment = Experiment(args.out, samples, args.encoder or _default_encoder(), settings, device)
    for seed in args.seeds:
        for variant in args.variants:
            experiment.tagger(variant, seed)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
