"""Build an image and test it: run every worker in its own container against a real Kafka until a link is published.

    python docker/prove.py [--target cpu] [--build-arg NAME=VALUE]... [--secret id=…,src=…]... [--mirror ADDRESS]
    python docker/prove.py --no-build --image NAME [--model FOLDER] [--older | --without-kernels]

Needs root, podman and runc (Debian's packages), Java and Maven for Kafka, and the checkout's .venv. If the base image is not
here and no registry provides it, debootstrap makes one from --mirror. Containers run with the options of the compose file:
read-only, user 10001, no capabilities, no new privileges. The exit code is 0 if every check passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kafka import TopicPartition

from workers.config.settings import KafkaSettings, read
from workers.devkit.broker import Broker
from workers.devkit.ports import free_port
from workers.kafka.clients import plain_consumer

ROOT: Final = Path(__file__).resolve().parents[1]
BASE: Final = "docker.io/library/debian:bookworm-slim"
WORKERS: Final = ("parser", "linker", "fallback", "ledger")
#: Chroot isolation for builds and plain cgroups for runs: both work inside other containers and virtual machines, too.
PODMAN: Final = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs")
CONFINED: Final = (
    "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "host",
    "--ulimit", "nofile=8192:8192", "--ulimit", "nproc=8192:8192", "--tmpfs", "/tmp:mode=1777,size=256m",
)  # fmt: skip
MODEL: Final = "/var/lib/reflink/model"
SITE: Final = "/opt/reflink/lib/python3.11/site-packages"
#: Code that runs at Python's start. It does the same as see_target in kernels.py when kernels of x86-64-v3 are made.
OLDER: Final = (
    "import llvmlite.binding as b; host = b.get_host_cpu_features; "
    "b.get_host_cpu_features = lambda host=host: {k: v and 'avx512' not in k for k, v in host().items()}\n"
)
READY_S: Final = 600.0
LINK_S: Final = 120.0
#: Longer than the drain deadline of 25 s.
STOP_S: Final = "30"


class Failed(Exception):
    """A check failed; the message says which."""


def podman(*arguments: str, check: bool = True) -> str:
    """Run podman and return its output. Raises Failed with the end of its error message."""
    # Without systemd nothing runs the images' health checks periodically; confined() runs them instead.
    variables = {**os.environ, "DISABLE_HC_SYSTEMD": "true"}
    done = subprocess.run([*PODMAN, *arguments], env=variables, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise Failed(f"podman {' '.join(arguments[:2])}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout.strip()


def build(image: str, options: argparse.Namespace) -> float:
    """Build the target and return the seconds it took. Raises Failed."""
    if options.mirror and subprocess.run([*PODMAN, "image", "exists", BASE], check=False).returncode != 0:
        subprocess.run([str(ROOT / "docker/base.sh"), BASE, options.mirror], check=True)
    began = time.monotonic()
    command = [*PODMAN, "build", "--isolation", "chroot", "--pull=missing", "--format", "docker", "--tag", image]
    command += ["--file", str(ROOT / "docker/Dockerfile"), "--target", options.target]
    command += [word for each in options.build_arg for word in ("--build-arg", each)]
    command += [word for each in options.secret for word in ("--secret", each)]
    if subprocess.run([*command, str(ROOT)], check=False).returncode != 0:
        raise Failed("the image was not built; the error is printed above")
    return time.monotonic() - began


@contextmanager
def running(image: str, folder: Path, address: str, prefix: str, more: Sequence[str]) -> Iterator[dict[str, tuple[str, int]]]:
    """Run all workers with the arguments ``more``; yield container name and port of each. Removes the containers at the end."""
    found: dict[str, tuple[str, int]] = {}
    try:
        for worker in WORKERS:
            name, port, state = f"{prefix}{worker}", free_port(), folder / worker
            state.mkdir()
            state.chmod(0o777)  # a volume made by an engine would belong to the image's user
            settings = {"KAFKA_BOOTSTRAP_SERVERS": address, "TOPIC_PREFIX": prefix, "HTTP_PORT": str(port), "SLOT": "0"}
            env = [word for key, value in settings.items() for word in ("--env", f"REFLINK_{key}={value}")]
            volume = ["--volume", f"{state}:/var/lib/reflink/state"]
            found[worker] = name, port
            podman("run", "--detach", "--name", name, *CONFINED, *env, *volume, *more, image, worker)
        yield found
    finally:
        for name, _ in found.values():
            podman("rm", "--force", "--time", "0", name, check=False)


def command(image: str, address: str, prefix: str, words: Sequence[str], *volumes: str) -> None:
    """Run another command of the image to its end. Raises Failed."""
    env = ["--env", f"REFLINK_KAFKA_BOOTSTRAP_SERVERS={address}", "--env", f"REFLINK_TOPIC_PREFIX={prefix}"]
    mounts = [word for each in volumes for word in ("--volume", each)]
    podman("run", "--rm", *CONFINED, *env, *mounts, image, *words)


def wait_ready(places: dict[str, tuple[str, int]], began: float) -> dict[str, float]:
    """Return the seconds from ``began`` until each worker was ready. Raises Failed."""
    took: dict[str, float] = {}
    while len(took) < len(places):
        for worker, (name, port) in places.items():
            if worker in took:
                continue
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=10):
                    took[worker] = round(time.monotonic() - began, 1)
            except OSError:
                if podman("inspect", "--format", "{{.State.Running}}", name) != "true":
                    raise Failed(f"{worker} ended: {podman('logs', '--tail', '5', name, check=False)}") from None
        if time.monotonic() - began > READY_S:
            raise Failed(f"not ready after {READY_S:g} s: {sorted(set(places) - set(took))}")
        time.sleep(0.1)
    return took


def links(kafka: KafkaSettings, wanted: int) -> list[dict[str, Any]]:
    """Return at least ``wanted`` committed records of the topic ``links``. Raises Failed."""
    consumer = plain_consumer(kafka)
    try:
        name = kafka.topic("links")
        parts = [TopicPartition(name, part) for part in sorted(consumer.partitions_for_topic(name) or ())]
        consumer.assign(parts)
        consumer.seek_to_beginning()
        found: list[dict[str, Any]] = []
        until = time.monotonic() + LINK_S
        while len(found) < wanted and time.monotonic() < until:
            for records in consumer.poll(timeout_ms=500).values():
                found += [json.loads(record.value) for record in records if record.value]
    finally:
        consumer.close()
    if len(found) < wanted:
        raise Failed(f"{len(found)} links in {LINK_S:g} s, {wanted} were expected")
    return found


def inside(name: str, script: str) -> str:
    """Run a shell script in the container and return its output."""
    return podman("exec", name, "sh", "-c", script, check=False)


def confined(places: dict[str, tuple[str, int]]) -> None:
    """Raise Failed if a container has more privileges than intended, or its health check fails."""
    for worker, (name, _) in places.items():
        who = inside(name, "id -u; id -g; (touch /opt/reflink/x || touch /etc/x) 2>/dev/null && echo written")
        if who.split() != ["10001", "10001"]:
            raise Failed(f"{worker}: user, group and what could be written: {who.split()}")
        if "CapEff:\t0000000000000000" not in (status := inside(name, "cat /proc/1/status")) or "NoNewPrivs:\t1" not in status:
            raise Failed(f"{worker} holds capabilities or may get privileges")
        began = time.monotonic()
        podman("healthcheck", "run", name)  # also fails if the image has no health check: OCI's format does not carry it
        print(f"  {worker}: confined and healthy; the check took {time.monotonic() - began:.2f} s, podman's part included")


def compiled_at_run(places: dict[str, tuple[str, int]]) -> list[str]:
    """Return the kernels missing from the image: compiled files, without the links to the image's own."""
    script = "test -d /tmp/kernels && find /tmp/kernels -type f -name '*.nbc' -printf '%f\\n'"
    return sorted({line for name, _ in places.values() for line in inside(name, script).split()})


def extra(options: argparse.Namespace, scratch: Path) -> list[str]:
    """Return additional arguments for the workers' containers."""
    more = []
    if options.model:
        more += ["--volume", f"{options.model.resolve()}:{MODEL}:ro", "--env", f"REFLINK_MODEL={MODEL}"]
    if options.without_kernels:
        more += ["--env", "NUMBA_CACHE_DIR=/tmp/kernels"]  # start.sh does not change a folder that the operator chose
    if options.older:
        (cpuinfo := scratch / "cpuinfo").write_text(re.sub(r" avx512\w*", "", Path("/proc/cpuinfo").read_text()))
        (early := scratch / "older.pth").write_text(OLDER)
        more += ["--volume", f"{cpuinfo}:/proc/cpuinfo:ro", "--volume", f"{early}:{SITE}/older.pth:ro"]
    return more


def prove(image: str, options: argparse.Namespace) -> None:
    """Run all checks. Raises Failed."""
    size = int(podman("image", "inspect", "--format", "{{.Size}}", image))
    print(f"{image}: {size / 1e6:,.0f} MB unpacked")
    examples = ROOT / "examples"
    with tempfile.TemporaryDirectory() as scratch, Broker.start(port=free_port()) as broker:
        Path(scratch).chmod(0o755)
        prefix = "prove-"
        kafka = read(KafkaSettings, kafka_bootstrap_servers=broker.address, topic_prefix=prefix)
        command(image, broker.address, prefix, ["topics", "--partitions", "2", "--replication", "1"])
        works = f"{examples}/works.jsonl:/works.jsonl:ro"
        command(image, broker.address, prefix, ["load", "/works.jsonl"], works)
        began = time.monotonic()
        with running(image, Path(scratch), broker.address, prefix, extra(options, Path(scratch))) as places:
            print("ready after, in seconds, all started at once:", wait_ready(places, began))
            confined(places)
            papers = f"{examples}/papers/1-first:/papers:ro"
            command(image, broker.address, prefix, ["publish", "/papers"], papers)
            found = links(kafka, options.links)
            linked = [each["link"] for each in found if each["link"]["cited"]]
            if not linked:
                raise Failed(f"none of {len(found)} references is linked")
            print(f"{len(found)} outcomes, {len(linked)} links; one: {linked[0]['reference']} is {linked[0]['cited']}")
            new = compiled_at_run(places)
            print("kernels compiled at run time:", ", ".join(new) or "none")
            if new and not options.without_kernels:
                raise Failed("the image lacks these kernels: docker/steps/kernels.py does not call them so")
            for worker, (name, _) in places.items():
                began = time.monotonic()
                podman("stop", "--time", STOP_S, name)
                code = podman("inspect", "--format", "{{.State.ExitCode}}", name)
                print(f"  {worker}: SIGTERM, exit code {code} after {time.monotonic() - began:.1f} s")
                if code != "0":
                    raise Failed(f"{worker}: {podman('logs', '--tail', '3', name, check=False)}")


def main() -> int:
    """Build and check the image; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--no-build", action="store_true", help="use an existing image")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--secret", action="append", default=[], help="pip: pip's settings; certificates: files that they name")
    parser.add_argument("--mirror", help="Debian mirror for a missing base image")
    parser.add_argument("--image", help="its name (default: reflink:proof, reflink:proof-gpu)")
    parser.add_argument("--links", type=int, default=100, help="minimum number of links to wait for (100)")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="a model to mount, for an image without weights")
    parser.add_argument("--older", action="store_true", help="hide AVX-512, to use the kernels of x86-64-v3")
    parser.add_argument(
        "--without-kernels", action="store_true", help="compile at the start, to see what the image's kernels save"
    )
    options = parser.parse_args()
    image = options.image or ("reflink:proof" if options.target == "cpu" else "reflink:proof-gpu")
    if "/" not in image:
        image = f"localhost/{image}"
    try:
        if not options.no_build:
            print(f"built in {build(image, options):.0f} s")
        prove(image, options)
    except Failed as failed:
        print(f"docker/prove.py: {failed}", file=sys.stderr)
        return 1
    print("every check passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
