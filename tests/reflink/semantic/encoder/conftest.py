"""One thread of torch for all tests of the encoder."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """More threads do not speed up small batches."""
    try:
        import torch
    except ImportError:  # the tests that need it are skipped
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
