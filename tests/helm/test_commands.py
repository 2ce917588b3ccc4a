"""What Jobs and tests of the chart run, reflink-worker takes."""

from __future__ import annotations

import pytest

from tests.helm.chart import INSTALLS, pods
from workers.cli import _parser


@pytest.mark.parametrize("install", INSTALLS)
def test_every_container_of_ours_runs_a_command_that_there_is(install):
    for name, pod in pods(install):
        one = pod["spec"]["containers"][0]
        assert callable(_parser().parse_args(one["args"]).run), name
        assert "command" not in one, name  # else the image's start script would be passed over
