"""The trained network as a tagger of citations, and its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import torch

from reflink.errors import ModelNotFound
from reflink.recognition.cifal.batches import Batch, rows
from reflink.recognition.cifal.encoder import Encoder
from reflink.recognition.cifal.network import Network
from reflink.recognition.cifal.pieces import WordPieces
from reflink.recognition.labels import LABELS
from reflink.recognition.tagging import Tagging, infer
from reflink.recognition.tokens import Tokens, tokenise

#: Version in the file. Increase it when the labels, the network or the input changes.
FORMAT: Final = "1"
#: Citations that ``tag_all`` labels at once: more have more padding.
SIZE: Final = 16


class CifalTagger:
    """A `reflink.recognition.tagging.Tagger`; ``tag_all`` labels many citations in much less time than ``tag`` one by one."""

    def __init__(self, network: Network, pieces: WordPieces) -> None:
        self.network, self._pieces = network.eval(), pieces
        chain = (network.crf.steps, network.crf.first, network.crf.last)
        self._steps, self._first, self._last = (value.detach().double().cpu().numpy() for value in chain)

    def tag(self, text: str, tokens: Tokens) -> Tagging:
        """Return the labels of a citation of at least one token. ``tokens`` are those of ``text``."""
        return self._tag([tokens])[0]

    def tag_all(self, texts: Sequence[str]) -> list[Tagging]:
        """Return the labels of many citations of at least one token each, in batches of similar length."""
        tokens = [tokenise(text) for text in texts]
        found: dict[int, Tagging] = {}
        for chosen in rows([len(own.words) for own in tokens], SIZE, None):
            found.update(zip(chosen, self._tag([tokens[row] for row in chosen]), strict=True))
        return [found[row] for row in range(len(texts))]

    @torch.inference_mode()
    def _tag(self, citations: Sequence[Tokens]) -> list[Tagging]:
        device = self.network.encoder.words.weight.device
        batch = Batch.of([self._pieces(tokens) for tokens in citations], self._pieces.marks, device)
        scores = self.network(batch).double().cpu().numpy()
        return [
            infer(own[: len(tokens.words)], self._steps, self._first, self._last)
            for own, tokens in zip(scores, citations, strict=True)
        ]

    def save(self, path: Path) -> None:
        """Write the learnt weights; those of the frozen layers are in the encoder's folder."""
        from safetensors.torch import save_file

        learnt = {name: value.detach().contiguous() for name, value in self.network.named_parameters() if value.requires_grad}
        save_file(learnt, path, {"format": FORMAT, "labels": LABELS, "frozen": str(self.network.encoder.frozen)})

    @classmethod
    def load(cls, path: Path, folder: Path, device: torch.device) -> Self:
        """Return the tagger that ``save`` wrote; ``folder`` has the encoder that it started from. Raises ModelNotFound."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "pt") as file:
                about = file.metadata() or {}
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise ModelNotFound(f"{path}: not a file of the tagger's weights ({error}): train it again") from None
        if about.get("format") != FORMAT or about.get("labels") != LABELS:
            raise ModelNotFound(f"{path}: the tagger's weights are of another version: train it again")
        network = Network(Encoder.load(folder, int(about["frozen"])), 0)
        missing, unknown = network.load_state_dict(weights, strict=False)
        if unknown or {name for name, value in network.named_parameters() if value.requires_grad} & set(missing):
            raise ModelNotFound(f"{path}: the tagger's weights are of another version: train it again")
        return cls(network.to(device), WordPieces(folder))
