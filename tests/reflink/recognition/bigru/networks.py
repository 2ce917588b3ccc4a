"""Random networks, and plain inference."""

from __future__ import annotations

import numpy as np

from reflink.recognition.bigru.encoding import TOTAL, encode
from reflink.recognition.bigru.network import UNITS, WIDTH, Network
from reflink.recognition.labels import LABELS
from reflink.recognition.tokens import Tokens

COUNT = len(LABELS)


def random_network(seed: int) -> Network:
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    return Network(
        table=draw(TOTAL, WIDTH), inputs=draw(WIDTH, 6 * UNITS), input_bias=draw(6 * UNITS), states=draw(2, UNITS, 3 * UNITS),
        state_bias=draw(2, 3 * UNITS), output=draw(2 * UNITS, COUNT), output_bias=draw(COUNT), steps=draw(COUNT, COUNT),
        first=draw(COUNT), last=draw(COUNT),
    )  # fmt: skip


def plain_scores(network: Network, tokens: Tokens) -> np.ndarray:
    """The scores by the formulas of the network's module."""
    projected = network.table[encode(tokens)].sum(axis=1) @ network.inputs + network.input_bias
    size = len(projected)
    hidden = np.empty((size, 2 * UNITS), dtype=np.float32)
    for direction, order in ((0, range(size)), (1, range(size - 1, -1, -1))):
        state = np.zeros(UNITS, dtype=np.float32)
        columns = slice(direction * UNITS, (direction + 1) * UNITS)
        for at in order:
            new = projected[at, 3 * UNITS * direction : 3 * UNITS * (direction + 1)]
            old = state @ network.states[direction] + network.state_bias[direction]
            gates = 1 / (1 + np.exp(-(new[: 2 * UNITS] + old[: 2 * UNITS])))
            candidate = np.tanh(new[2 * UNITS :] + gates[:UNITS] * old[2 * UNITS :])
            state = (1 - gates[UNITS:]) * candidate + gates[UNITS:] * state
            hidden[at, columns] = state
    scores: np.ndarray = hidden @ network.output + network.output_bias
    return scores
