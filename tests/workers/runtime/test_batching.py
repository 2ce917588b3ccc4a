"""Properties of the batching policy, with the real flow in simulated time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import accumulate, count, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.simulated import Busy, Clock, P, Served, World, compute, record, steady
from workers.config.settings import WorkerSettings
from workers.records import Partition, Received
from workers.runtime.batching import Batch, BatchPolicy, CautiousMean, weight
from workers.telemetry import metrics

Q: Partition = ("references", 1)
#: The number of batches after which the policy has learnt the pace of a stage.
LEARNT = 8
Cost = Callable[[Batch, float], float]


def linear(fixed: float, each: float) -> Cost:
    return lambda batch, now: fixed + each * len(batch.records)


def size_of(served: Served) -> int:
    return len(served.batch.records)


def rate_of(served: list[Served]) -> float:
    return sum(map(size_of, served)) / (served[-1].done - served[0].asked)


def latencies(served: list[Served], arrived: dict[tuple[Partition, int], float]) -> list[float]:
    return [each.done - arrived[(item.topic, item.partition), item.offset] for each in served for item in each.batch.records]


def best_rate(fixed: float, each: float, policy: BatchPolicy) -> float:
    """Return the records per second of a server with the largest batches that the policy allows."""
    number = max(1, min(policy.records, int((policy.target_s - fixed) / each)))
    return number / (fixed + each * number)


# Latency


def test_at_low_load_a_record_waits_only_for_its_own_handling():
    world = World(BatchPolicy(), steady(5, 60))
    served = world.serve(linear(0.005, 0.0025))
    assert len(served) == 300
    assert latencies(served, world.arrived) == pytest.approx([0.0075] * 300)


def test_near_capacity_a_record_waits_for_the_batch_before_it_and_its_own():
    world = World(BatchPolicy(), steady(380, 60))
    served = world.serve(linear(0.005, 0.0025))
    assert max(latencies(served, world.arrived)) <= 2 * max(each.seconds for each in served) + world.policy.linger_s
    assert max(each.seconds for each in served) < 0.3, "batches far from the budget grow with what came during the last one"


def test_under_load_batches_are_what_came_during_the_last_one():
    world = World(BatchPolicy(linger_s=0.0), steady(300, 30))
    served = world.serve(linear(0.05, 0.001))
    for before, now in pairwise(served):
        came = sum(before.taken < when <= before.done for when in world.arrived.values())
        assert size_of(now) == came + before.left


def test_a_batch_that_fills_slowly_closes_when_its_oldest_record_has_waited_for_the_linger():
    world = World(BatchPolicy(linger_s=0.02), steady(5000, 2))
    served = [each for each in world.serve(linear(0.004, 0.0)) if 0.1 < each.taken < 1.9]
    assert {round(each.taken - each.arrived, 3) for each in served} == {0.02}


# Throughput and the target

SERVERS = [(0.01, 0.0025, 600.0), (0.01, 0.07, 30.0), (0.005, 0.00006, 20_000.0), (0.3, 0.004, 300.0), (0.0, 0.02, 100.0)]


@pytest.mark.parametrize(("fixed", "each", "arrivals"), SERVERS)
def test_an_overloaded_worker_is_as_fast_as_its_batches_allow_and_keeps_to_its_target(fixed, each, arrivals):
    world = World(BatchPolicy(), steady(arrivals, max(60.0 if arrivals < 1000 else 2.0, 1500 / arrivals)))
    served = world.serve(linear(fixed, each))
    learnt = [one for one in served[LEARNT:] if one.left]
    assert len(learnt) > 20
    assert rate_of(learnt) >= 0.95 * best_rate(fixed, each, world.policy)
    assert max(one.seconds for one in learnt) <= 1.5 * world.policy.target_s
    assert max(one.seconds for one in served) <= 7 * world.policy.target_s, "the first batches are small"


def test_a_burst_a_hundred_times_the_usual_is_worked_off_in_batches_of_the_target_and_leaves_no_trace():
    quiet, burst = steady(10, 30), steady(1000, 5, start=30, first=300)
    world = World(BatchPolicy(), quiet + burst + steady(10, 60, start=35, first=5300))
    served = world.serve(linear(0.01, 0.0025))
    assert max(each.seconds for each in served) <= 1.5 * world.policy.target_s
    worked_off = next(each.done for each in served if each.asked > 35 and not each.left)
    assert worked_off <= 30 + 5350 * 0.0025 * 1.1 + 1, "as soon as the server can"
    last = [each for each in served if each.arrived > 60]
    assert {size_of(each) for each in last} == {1}
    assert max(each.done - each.arrived for each in last) < 0.02


@pytest.mark.parametrize(("alike", "most"), [(1, 1.05), (20, 1.3), (400, 2.0)])
def test_cheap_and_expensive_records_in_turn_keep_to_the_target(alike: int, most: float):
    """The policy cannot distinguish them beforehand: when whole batches are expensive, they take up to twice the target."""

    def cost(batch: Batch, now: float) -> float:
        return 0.01 + sum(0.0002 if item.offset // alike % 2 else 0.005 for item in batch.records)

    served = World(BatchPolicy(), steady(600, 60)).serve(cost)
    assert max(each.seconds for each in served[LEARNT:]) <= most
    assert rate_of(served) >= 0.95 / (0.0026 + 0.01 / 384)


def test_batches_that_are_expensive_every_other_time_keep_to_the_target():
    turns = count()
    world = World(BatchPolicy(), steady(600, 60))
    served = world.serve(lambda batch, now: len(batch.records) * (0.005 if next(turns) % 2 else 0.0001))
    assert max(each.seconds for each in served[LEARNT:]) <= 1.5


# Sudden changes


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_slow_batch_while_the_stage_warms_up_is_forgotten(number: int):
    world = World(BatchPolicy(), steady(600, 60))
    slow = iter([0.0] * number + [20.0])
    served = world.serve(lambda batch, now: 0.0025 * len(batch.records) + next(slow, 0.0))
    assert size_of(served[30]) > 350
    assert rate_of(served[number + 1 :]) >= 0.95 * 400


def test_one_slow_batch_among_many_costs_no_throughput():
    number = count()
    world = World(BatchPolicy(), steady(600, 60))
    served = world.serve(lambda batch, now: 0.01 + 0.0025 * len(batch.records) + 30.0 * (next(number) == 30))
    assert rate_of(served[31:]) >= 0.95 * best_rate(0.01, 0.0025, world.policy)
    assert size_of(served[55]) > 350


def test_an_encoder_that_halves_its_budget_and_gets_it_back_is_followed_down_and_up():
    """This follows a batch that did not fit the device's memory: the encoder is three times as slow for a minute."""
    world = World(BatchPolicy(), steady(600, 80))
    served = world.serve(lambda batch, now: 0.01 + (0.0075 if 30 <= now < 90 else 0.0025) * len(batch.records))
    during = [each for each in served if 30 <= each.taken < 90]
    after = [each for each in served if each.taken >= 90]
    assert max(each.seconds for each in during) <= 3.2, "the first one is as it was planned"
    assert max(each.seconds for each in during[3:]) <= 1.5
    assert size_of(during[5]) < 150
    assert size_of(after[20]) > 350


def test_a_quiet_time_of_small_batches_does_not_make_the_next_load_slow():
    """A batch of one record pays all fixed costs, so its time does not predict the time of a full batch."""
    policy = BatchPolicy()
    for _ in range(20):
        policy.learn(512, 400_000, 0.2)
    before = policy.budget
    for _ in range(1000):
        policy.learn(1, 750, 0.05)
    assert policy.budget == before


def test_fixed_costs_above_the_target_do_not_shrink_batches_to_nothing():
    world = World(BatchPolicy(), steady(100, 20))
    served = world.serve(linear(2.0, 0.001))
    assert min(size_of(each) for each in served if each.left) >= 8


# Tokens


def test_the_budget_of_tokens_is_kept_once_their_share_of_the_bytes_is_known():
    world = World(BatchPolicy(tokens=4000), steady(20_000, 0.5))
    served = world.serve(linear(0.001, 0.0001), tokens=lambda batch: 40 * len(batch.records))
    assert {size_of(each) for each in served[5:] if each.left} == {100}


def test_batches_without_tokens_do_not_change_the_share_of_tokens():
    policy = BatchPolicy(tokens=4000)
    for _ in range(20):
        policy.learn(100, 75_000, 0.01, tokens=4000)
    before = policy.budget
    assert before == pytest.approx(75_000, rel=0.01)
    for _ in range(1000):
        policy.learn(100, 75_000, 0.01)
    assert policy.budget == before


# In the worker


def test_a_worker_reports_batch_times_to_its_policy_and_exports_its_estimates(tmp_path: Path):
    stage = Busy(Clock(), each_s=0.02)
    compute(stage, WorkerSettings(slot="a", state_dir=tmp_path), 500)
    assert max(stage.batches) * stage.each_s <= 2
    assert stage.batches[-2] == 50, "the target is one second"
    budget, expected = (
        each.collect()[0].samples[0].value for each in (metrics.BATCH_BUDGET_BYTES, metrics.BATCH_EXPECTED_SECONDS)
    )
    assert budget == pytest.approx(50 * 750, rel=0.01)
    assert expected == pytest.approx(stage.batches[-1] * stage.each_s, rel=0.01)


# Properties for any arrivals

sizes = st.one_of(st.integers(0, 1000), st.integers(0, 40_000))
gaps = st.one_of(st.just(0.0), st.floats(0, 0.05), st.floats(0, 3))
coming = st.lists(st.tuples(gaps, sizes, st.sampled_from([P, Q])), min_size=1, max_size=150)
policies = st.builds(
    BatchPolicy,
    records=st.integers(1, 40),
    bytes=st.integers(500, 100_000),
    linger_s=st.sampled_from([0.0, 0.02, 0.5]),
    tokens=st.integers(10, 10_000),
    target_s=st.floats(0.01, 2),
)


def arriving(drawn: list[tuple[float, int, Partition]]) -> list[tuple[float, Received]]:
    offsets: dict[Partition, int] = defaultdict(int)
    found = []
    for when, (_, size, place) in zip(accumulate(gap for gap, _, _ in drawn), drawn, strict=True):
        found.append((when, record(offsets[place], size, place)))
        offsets[place] += 1
    return found


@given(policies, coming, st.lists(st.tuples(st.floats(0, 3), st.integers(0, 3000)), min_size=1, max_size=20))
def test_every_record_is_in_one_batch_in_order_and_within_the_limits(policy: BatchPolicy, drawn, costs):
    arrivals = arriving(drawn)
    turns = iter(costs * len(drawn))
    tokens = {"of": 0}

    def cost(batch: Batch, now: float) -> float:
        seconds, tokens["of"] = next(turns)
        return seconds

    served = World(policy, arrivals, (P, Q)).serve(cost, tokens=lambda batch: tokens["of"])
    handled = [item for each in served for item in each.batch.records]
    assert handled == [item for _, item in arrivals], "each once, in the order they came"
    for each in served:
        size = sum(map(weight, each.batch.records))
        assert each.batch.bytes == size
        assert size_of(each) <= policy.records
        assert size <= each.budget or size_of(each) == 1
        waited_before = each.asked - each.arrived
        assert each.taken - each.asked <= max(0.0, policy.linger_s - waited_before) + 1e-9, "it lingered beyond its deadline"
    for before, now in pairwise(served):
        assert now.budget <= max(2 * before.budget, 65_536)


@given(
    policies,
    st.lists(
        st.tuples(st.integers(1, 10**5), st.integers(1, 10**9), st.floats(0, 1e6) | st.just(1e-300), st.integers(0, 10**9)),
        max_size=60,
    ),
)
def test_the_budget_stays_within_its_bounds_for_any_batches(policy: BatchPolicy, finished):
    for each in finished:
        policy.learn(*each)
        assert 1 <= policy.budget <= policy.bytes
        assert policy.expected_s(1000) >= 0


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50))
def test_a_cautious_mean_lies_among_its_values(values: list[float]):
    mean = CautiousMean()
    for each in values:
        mean.add(each)
    assert min(values) * (1 - 1e-9) <= mean.value <= max(values) * (1 + 1e-9)


def test_a_cautious_mean_forgets():
    mean = CautiousMean()
    for each in [1.0] * 20 + [5.0] * 6:
        mean.add(each)
    assert mean.value == pytest.approx(5.0, rel=0.05)
    for each in [1.0] * 30:
        mean.add(each)
    assert mean.value == pytest.approx(1.0, rel=0.05)
