"""Learn the parameters of the BiGRU-CRF with torch: Adam on the conditional likelihood."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from reflink.recognition.bigru.encoding import OFFSETS, TOTAL, Rows, encode
from reflink.recognition.bigru.network import UNITS, WIDTH, Network
from reflink.recognition.labelled import Labelled
from reflink.recognition.labels import LABELS
from reflink.recognition.learning import slopes
from reflink.recognition.tagging import messages
from reflink.recognition.tokens import tokenise

#: Citations of one step, dropout after the GRU and of the embeddings (papers/001 section 5.1: 64 and 0.2).
BATCH: Final = 64
DROPOUT: Final = 0.2
#: Adam's step size and passes of the two phases.
RATE: Final = 3e-3
SECOND_RATE: Final = 2e-3
FIRST_EPOCHS: Final = 2
SECOND_EPOCHS: Final = 7
#: Maximum tokens of a citation that is trained on.
LONGEST: Final = 250
#: Share of tokens whose word and letters are hidden, so that the network learns from their neighbours.
UNKNOWN: Final = 0.05
_COUNT: Final = len(LABELS)


class Model(nn.Module):
    """The network as torch trains it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(TOTAL, WIDTH, mode="sum")
        nn.init.normal_(self.table.weight, std=0.1)
        self.gru = nn.GRU(WIDTH, UNITS, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * UNITS, _COUNT)
        self.dropout = nn.Dropout(DROPOUT)
        #: Rows 0 to labels - 1 are the steps, then first, then last.
        self.chain = nn.Parameter(torch.zeros(_COUNT + 2, _COUNT))

    def forward(self, rows: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Return the scores [citations, tokens, labels], padded; ``rows`` [tokens of all citations, columns]."""
        inputs = torch.split(self.dropout(self.table(rows)), list(lengths))
        packed = nn.utils.rnn.pack_sequence(list(inputs), enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        scores: torch.Tensor = self.output(self.dropout(states))
        return scores

    def network(self) -> Network:
        """Return the parameters for inference."""

        def array(part: torch.Tensor) -> Any:
            return np.ascontiguousarray(part.detach().numpy().astype(np.float32))

        gru, chain = self.gru, array(self.chain)
        names = ("", "_reverse")
        return Network(
            table=array(self.table.weight),
            inputs=array(torch.cat([getattr(gru, f"weight_ih_l0{name}") for name in names]).T),
            input_bias=array(torch.cat([getattr(gru, f"bias_ih_l0{name}") for name in names])),
            states=array(torch.stack([getattr(gru, f"weight_hh_l0{name}").T for name in names])),
            state_bias=array(torch.stack([getattr(gru, f"bias_hh_l0{name}") for name in names])),
            output=array(self.output.weight.T), output_bias=array(self.output.bias), steps=chain[:_COUNT], first=chain[_COUNT],
            last=chain[_COUNT + 1],
        )  # fmt: skip


def pretrained(citations: Sequence[Labelled], *, seed: int) -> Model:
    """Return a model after the first phase: many citations of few publishers."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = Model()
    fit(model, citations, epochs=FIRST_EPOCHS, seed=seed, rate=RATE)
    return model


def tuned(model: Model, citations: Sequence[Labelled], *, seed: int) -> Network:
    """Return the network after the second phase, which starts from a copy of ``model``: fewer citations, many styles."""
    own = copy.deepcopy(model)
    fit(own, citations, epochs=SECOND_EPOCHS, seed=seed, rate=SECOND_RATE)
    return own.network()


def fit(model: Model, citations: Sequence[Labelled], *, epochs: int, seed: int, rate: float) -> None:
    """Train ``model`` in place; the step size falls linearly to zero. The same input and seed give the same parameters."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    noise = np.random.default_rng(seed)
    citations = [citation for citation in citations if len(citation.labels) <= LONGEST]
    encoded = [encode(tokenise(citation.text)) for citation in citations]
    labels = [np.array(citation.labels, dtype=np.int8) for citation in citations]
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    total = epochs * -(-len(citations) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(1 - step / total, 0.02) * min(1, (step + 1) / 50))
    model.train()
    for epoch in range(epochs):
        loss = 0.0
        for batch in _batches([len(rows) for rows in encoded], rng):
            loss += _step(model, [encoded[at] for at in batch], [labels[at] for at in batch], noise)
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss / len(citations):.4f} per citation", flush=True)
    model.eval()


def _batches(sizes: Sequence[int], rng: random.Random) -> list[list[int]]:
    """Return the citations' numbers in batches of similar lengths, in random order."""
    order = sorted(range(len(sizes)), key=lambda at: sizes[at] * rng.uniform(0.9, 1.1))
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    rng.shuffle(batches)
    return batches


def _step(model: Model, rows: Sequence[Rows], labels: Sequence[Any], noise: np.random.Generator) -> float:
    """Set the gradients of one batch; return its summed negative log-likelihood."""
    flat = np.concatenate(rows).astype(np.int64)
    hidden = noise.random(len(flat)) < UNKNOWN
    flat[hidden, :2] = OFFSETS[0]
    flat[hidden, 4:7] = OFFSETS[4:7]
    model.zero_grad()
    scores = model(torch.from_numpy(flat), [len(item) for item in rows])
    values = scores.detach().numpy().astype(np.float64)
    chain = model.chain.detach().numpy().astype(np.float64)
    step = np.exp(chain[:_COUNT])
    gradient, slope = np.zeros_like(values), np.zeros_like(chain)
    loss = 0.0
    for at, truth in enumerate(labels):
        own = values[at, : len(truth)].copy()
        own[0] += chain[_COUNT]
        own[-1] += chain[_COUNT + 1]
        forward, backward, emit, norm = messages(own, step)
        delta, steps = slopes(truth, forward, backward, emit, step)
        gradient[at, : len(truth)] = delta
        slope += steps
        loss += norm - own[range(len(truth)), truth].sum() - chain[truth[:-1], truth[1:]].sum()
    scores.backward(torch.from_numpy((gradient / len(rows)).astype(np.float32)))
    model.chain.grad = torch.from_numpy((slope / len(rows)).astype(np.float32))
    return float(loss)
