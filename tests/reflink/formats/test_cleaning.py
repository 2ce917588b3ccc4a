import json
import re
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from reflink.formats.cleaning import json_value, text_bytes

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
TEXTS = st.text(st.one_of(st.sampled_from('\x00\x07\x0c\x1f\ufffe\uffff\té\\u"'), st.characters(exclude_categories=("Cs",))))
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(-5, 5), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text("ab", max_size=2), inner, max_size=4)),
    max_leaves=12,
)


def plainly(value: Any) -> Any:
    match value:
        case str():
            return FORBIDDEN.sub(" ", value)
        case list():
            return [plainly(each) for each in value]
        case dict():
            return {key: plainly(each) for key, each in value.items()}
    return value


@given(VALUES, st.booleans())
def test_json_as_by_plain_recursion(value: Any, ascii_only: bool):
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert json_value(orjson.loads(data), data) == plainly(value)


@given(TEXTS)
def test_text_has_no_forbidden_character(text: str):
    assert text_bytes(text.encode()).decode() == re.sub(
        "[\ufffe\uffff]", "   ", re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", " ", text)
    )


def test_deep_json_is_no_recursion():
    data = b"[" * 1000 + b'"\\u0000"' + b"]" * 1000
    value = json_value(orjson.loads(data), data)
    while isinstance(value, list):
        (value,) = value
    assert value == " "
