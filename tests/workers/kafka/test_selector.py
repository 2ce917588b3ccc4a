"""The selector of the Kafka clients answers as the standard one."""

from __future__ import annotations

import selectors
import socket

import pytest

from workers.kafka.selector import Selector


def test_keys_are_those_of_the_standard_selector() -> None:
    one, two = socket.socketpair()
    with one, two, Selector() as selector:
        with pytest.raises(KeyError):
            selector.get_key(one)
        key = selector.register(one, selectors.EVENT_READ, "data")
        assert selector.get_key(one) == selector.get_key(one.fileno()) == key
        with pytest.raises(KeyError):
            selector.get_key(two)
        two.send(b"x")
        assert selector.select(1) == [(key, selectors.EVENT_READ)]
        assert selector.modify(one, selectors.EVENT_WRITE, "other") == selector.get_key(one)
        selector.unregister(one)
        with pytest.raises(KeyError):
            selector.get_key(one)


def test_a_closed_socket_is_still_found_and_removed() -> None:
    one, two = socket.socketpair()
    with two, Selector() as selector:
        key = selector.register(one, selectors.EVENT_READ)
        one.close()
        assert selector.get_key(one) == key
        selector.unregister(one)
        with pytest.raises((KeyError, ValueError)):
            selector.get_key(one)
