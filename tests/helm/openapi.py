"""JSON schemas for kubeconform: Kubernetes' own objects from its OpenAPI, KEDA's and the Prometheus Operator's from their CRDs.

The schemas reject unknown fields, to detect misspelt names.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.data import CACHE
from tests.programs.golang import module_folder

#: Go modules, their versions, and the files in them.
KUBERNETES: Final = ("k8s.io/kubernetes", "v1.34.2", "api/openapi-spec/swagger.json")
CRDS: Final = (
    ("github.com/kedacore/keda/v2", "v2.18.1", "config/crd/bases/keda.sh_*.yaml"),
    ("github.com/prometheus-operator/prometheus-operator", "v0.85.0", "example/prometheus-operator-crd/*_podmonitors.yaml"),
    ("github.com/prometheus-operator/prometheus-operator", "v0.85.0", "example/prometheus-operator-crd/*_prometheusrules.yaml"),
)
KINDS: Final = frozenset((
    "ConfigMap", "CronJob", "Deployment", "Job", "NetworkPolicy", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget",
    "Service", "ServiceAccount", "StatefulSet",
))  # fmt: skip
#: Version of the conversion: a new version does not use the folders of older ones.
_FORMAT: Final = 1
_INT_OR_STRING: Final = {"type": ["integer", "string"]}
_REF: Final = "#/definitions/"
#: Keys of a schema whose values are schemas by name, and keys whose value is a schema or a list of schemas.
_NAMED: Final = ("properties", "patternProperties", "definitions")
_NESTED: Final = ("items", "additionalProperties", "not", "allOf", "anyOf", "oneOf")

Schema = dict[str, Any]


def schema_location() -> str:
    """Return kubeconform's `-schema-location`; the first call writes the files. Raises ProgramMissing."""
    versions = "-".join(version for _, version, _ in (KUBERNETES, *CRDS[:2]))
    folder = CACHE / "kube-schemas" / f"{_FORMAT}-{versions}"
    if not folder.exists():
        new = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for name, schema in (*_of_kubernetes(), *_of_crds()):
            (new / f"{name}.json").write_text(json.dumps(schema))
        new.rename(folder)
    return str(folder / "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json")


def _of_kubernetes() -> Iterator[tuple[str, Schema]]:
    module, version, path = KUBERNETES
    whole = json.loads((module_folder(module, version) / path).read_text())["definitions"]
    definitions = {name: strict(schema) for name, schema in whole.items()}
    for name, schema in whole.items():
        for each in schema.get("x-kubernetes-group-version-kind", ()):
            if each["kind"] in KINDS and schema.get("properties", {}).keys() >= {"apiVersion", "kind", "metadata"}:
                needed = {wanted: definitions[wanted] for wanted in _reached(name, definitions)}
                yield _file(each["group"], each["version"], each["kind"]), {"$ref": _REF + name, "definitions": needed}


def _of_crds() -> Iterator[tuple[str, Schema]]:
    for module, version, pattern in CRDS:
        for path in sorted(module_folder(module, version).glob(pattern)):
            spec = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)["spec"]
            for each in spec["versions"]:
                schema = strict(each["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                yield _file(spec["group"], each["name"], spec["names"]["kind"]), schema


def _file(group: str, version: str, kind: str) -> str:
    # kubeconform's {{.Group}} is the whole group, and the version for objects of Kubernetes' core group.
    return f"{kind.lower()}-{group or version}-{version}"


def strict(schema: Schema) -> Schema:
    """Convert OpenAPI to a JSON Schema that rejects unknown fields."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return dict(_INT_OR_STRING)
    if schema.get("description", "").startswith("Quantity is a fixed-point representation"):
        return {"type": ["string", "number"]}
    converted = {key: value for key, value in schema.items() if not key.startswith("x-") and key != "format"}
    for key in _NAMED:
        if key in converted:
            converted[key] = {name: strict(each) for name, each in converted[key].items()}
    for key in _NESTED:
        if isinstance(converted.get(key), dict):
            converted[key] = strict(converted[key])
        elif isinstance(converted.get(key), list):
            converted[key] = [strict(each) for each in converted[key]]
    free = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in converted
    if "properties" in converted and not free:
        converted["additionalProperties"] = False
    return converted


def _reached(name: str, definitions: dict[str, Schema]) -> set[str]:
    found, open_ = set(), [name]
    while open_:
        current = open_.pop()
        if current not in found:
            found.add(current)
            open_ += _references(definitions[current])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(_REF)
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for each in node:
            yield from _references(each)


def folder_of(location: str) -> Path:
    """The folder that a schema location names."""
    return Path(location).parent
