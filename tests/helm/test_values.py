"""values.yaml, its schema and the README agree with each other and with workers.config.settings."""

from __future__ import annotations

import json

import pytest
import yaml

from helm import readme, settings
from reflink.linking.policy import Policy
from tests.data import ROOT
from tests.helm.chart import CHART

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


def test_the_schema_has_the_current_settings():
    assert settings.SCHEMA.read_text() == settings.renewed(settings.SCHEMA.read_text()), "run python -m helm.settings"


def test_every_setting_is_set_by_either_the_user_or_the_chart():
    names = {f"REFLINK_{name.upper()}" for model in settings.MODELS for name in model.model_fields}
    assert names == set(settings.properties()) | (set(settings.own_names()) - {"REFLINK_CONFIG"})
    assert Policy().accept == 0.5  # the settings include those of the library
    assert "REFLINK_MIN_PROBABILITY" in settings.properties()


def test_the_readme_has_the_current_values():
    text = readme.README.read_text()
    assert text == readme.renewed(text, readme.VALUES.read_text()), "run python -m helm.readme"


def test_a_value_without_a_comment_is_an_error():
    with pytest.raises(readme.Undocumented, match=r"line 3: b has no comment above it"):
        readme.table("# Said.\na: 1\nb: {c: 1}\n")


def test_the_readme_shows_name_default_and_comment():
    made = readme.table("## Part\n# How many,\n# at most.\na: 3\nb:\n  # Which | one.\n  c: [x]\n")
    assert "### Part" in made
    assert "| `a` | `3` | How many, at most. |" in made
    assert '| `b.c` | `["x"]` | Which &#124; one. |' in made


def objects(schema, path=""):
    """Yield the schema of every object, with its path."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield path, schema
        for key, value in schema.items():
            yield from objects(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for number, value in enumerate(schema):
            yield from objects(value, f"{path}/{number}")


def test_objects_reject_unknown_keys():
    # Kubernetes checks these objects, which the chart copies.
    passed_on = {"objects", "affinity", "extraEnv", "volume", "global"}
    for path, schema in objects(SCHEMA):
        if "additionalProperties" not in schema:
            assert passed_on & set(path.split("/")), path
        else:
            assert schema["additionalProperties"] is not True, path


def test_every_value_is_in_the_schema():
    def known(values, schema, path):
        schema = SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        if isinstance(values, dict) and "properties" in schema:
            assert values.keys() <= schema["properties"].keys(), path
            for key, value in values.items():
                known(value, schema["properties"][key], f"{path}.{key}")

    known(VALUES, SCHEMA, "")
    whole = SCHEMA["definitions"]["worker"]["properties"]
    assert VALUES["workerDefaults"].keys() == whole.keys()


def test_the_image_has_the_version_of_the_project():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (ROOT / "pyproject.toml").read_text()
