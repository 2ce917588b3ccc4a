"""Compiled recurrence of the bidirectional GRU."""

from __future__ import annotations

from typing import Any

import numpy as np

from reflink.compiled import compiled

Array = np.ndarray[Any, np.dtype[Any]]


# Not all of fastmath: infinity is a valid value of an exponential here.
@compiled(fastmath={"contract", "reassoc"})
def hidden_states(projected: Array, states: Array, state_bias: Array) -> Array:
    """Return the states of both directions, float32 [tokens, 2 * units].

    ``projected`` float32 [tokens, 6 * units]: the products of embeddings and input weights, forward direction first. The others
    are those of `reflink.recognition.bigru.network.Network`; the number of units is even.
    """
    size, units = len(projected), states.shape[1]
    hidden = np.empty((size, 2 * units), dtype=np.float32)
    state = np.empty(units, dtype=np.float32)
    old = np.empty(3 * units, dtype=np.float32)
    one, two = np.float32(1), np.float32(2)
    for direction in range(2):
        state[:] = 0
        weights = states[direction]
        for step in range(size):
            t = step if direction == 0 else size - 1 - step
            new = projected[t, 3 * units * direction : 3 * units * (direction + 1)]
            for j in range(3 * units):
                old[j] = state_bias[direction, j]
            for k in range(0, units, 2):  # two rows at a time: half as many passes over ``old``
                a, b = state[k], state[k + 1]
                for j in range(3 * units):
                    old[j] += a * weights[k, j] + b * weights[k + 1, j]
            for j in range(units):
                reset = one / (one + np.exp(-(new[j] + old[j])))
                update = one / (one + np.exp(-(new[units + j] + old[units + j])))
                candidate = new[2 * units + j] + reset * old[2 * units + j]
                candidate = one - two / (one + np.exp(two * candidate))  # tanh
                state[j] = (one - update) * candidate + update * state[j]
                hidden[t, units * direction + j] = state[j]
    return hidden
