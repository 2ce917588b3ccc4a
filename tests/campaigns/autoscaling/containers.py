"""Maps a pod's container to a process of this machine: its command, its environment, and folders for its mounts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.campaigns.autoscaling.api import Api
from tests.campaigns.autoscaling.errors import RunFailed

#: The command that the image's entry point runs.
ENTRY: Final = (sys.executable, "-m", "workers.cli")


class Folders:
    """The folders of pods' volumes on this machine. Claims outlive their pods, and so do the folders of claims."""

    def __init__(self, root: Path, api: Api, namespace: str, given: Mapping[str, Path]) -> None:
        """``given`` are existing folders by the name of their claim."""
        self._root, self._api, self._namespace, self._given = root, api, namespace, given

    def mounts(self, pod: Mapping[str, Any], container: Mapping[str, Any]) -> dict[str, Path]:
        """Return the folder by path in the container, the longest path first."""
        volumes = {each["name"]: each for each in pod["spec"].get("volumes", ())}
        found = {}
        for mount in container.get("volumeMounts", ()):
            folder = self._volume(pod["metadata"]["uid"], volumes[mount["name"]])
            found[mount["mountPath"]] = folder / mount["subPath"] if "subPath" in mount else folder
        return dict(sorted(found.items(), key=lambda each: -len(each[0])))

    def _volume(self, uid: str, volume: Mapping[str, Any]) -> Path:
        if "persistentVolumeClaim" in volume:
            claim = volume["persistentVolumeClaim"]["claimName"]
            folder: Path = self._given.get(claim, self._root / "claims" / claim)
        else:
            folder = self._root / "pods" / uid / volume["name"]
        folder.mkdir(parents=True, exist_ok=True)
        for kind, naming in (("configMap", "name"), ("secret", "secretName")):
            if kind in volume:
                held = self._api.get(f"/api/v1/namespaces/{self._namespace}/{kind.lower()}s/{volume[kind][naming]}")
                for name, text in held.get("data", {}).items():
                    (folder / name).write_text(text)
        return folder

    def settings(self, name: str) -> dict[str, str]:
        """Return the data of a config map."""
        found: dict[str, str] = self._api.get(f"/api/v1/namespaces/{self._namespace}/configmaps/{name}").get("data", {})
        return found


def command(container: Mapping[str, Any], mounts: Mapping[str, Path]) -> list[str]:
    """Return the container's command with paths of this machine. Raises RunFailed if it is not the worker's command."""
    words = [*container.get("command", ()), *container.get("args", ())]
    if "command" in container:
        if Path(words[0]).name != "reflink-worker":
            raise RunFailed(f"container {container['name']} runs {words[0]}, which this run does not support")
        words = words[1:]
    return [*ENTRY, *(here(each, mounts) for each in words)]


def environment(
    pod: Mapping[str, Any], container: Mapping[str, Any], settings: Callable[[str], Mapping[str, str]]
) -> dict[str, str]:
    """Return the container's environment variables. ``settings`` reads a config map. Raises RunFailed."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        if "configMapRef" not in source:
            raise RunFailed(f"container {container['name']} has variables from a source that this run cannot read: {source}")
        found |= settings(source["configMapRef"]["name"])
    return found | {each["name"]: _value(each, pod) for each in container.get("env", ())}


def here(text: str, mounts: Mapping[str, Path]) -> str:
    """Translate a path within a mounted volume to this machine; return any other text unchanged."""
    for path, folder in mounts.items():
        if text == path or text.startswith(f"{path.rstrip('/')}/"):
            return str(folder) + text[len(path.rstrip("/")) :]
    return text


def _value(variable: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    if "valueFrom" not in variable:
        return str(variable.get("value", ""))
    path = variable["valueFrom"].get("fieldRef", {}).get("fieldPath")
    fields = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "status.podIP": pod.get("status", {}).get("podIP", ""),
    }
    if path not in fields:
        raise RunFailed(f"variable {variable['name']} of pod {pod['metadata']['name']} has a source that this run cannot read")
    return str(fields[path])
