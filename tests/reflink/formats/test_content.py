"""What the formats look at: the beginning of XML, the value of JSON, text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.formats.content import Content


@pytest.mark.parametrize(
    ("data", "root", "child"),
    [
        (b"<a/>", ("a", ""), ""),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a <b> -->\n<!DOCTYPE a [<!ENTITY x 'y'>]><a b='>' ><c/>", ("a", ""), "c"),
        (b"<TEI xmlns='http://www.tei-c.org/ns/1.0'>\n <teiHeader>", ("TEI", "http://www.tei-c.org/ns/1.0"), "teiHeader"),
        (b"<x:a xmlns:x='u' xmlns='v'><!-- c --><x:b>", ("a", "u"), "b"),
        ("<?xml version='1.0' encoding='utf-16'?><a><b/></a>".encode("utf-16"), ("a", ""), "b"),
        (b"<a>text<b/>", ("a", ""), ""),
        (b'<!DOCTYPE a [<!ENTITY x "a]b">]><a><b/>', ("a", ""), "b"),
        (b'<!DOCTYPE a SYSTEM "a>b"><a><b/>', ("a", ""), "b"),
        (
            b"<!--" + b"x" * 30_000 + b"--><?a " + b"x" * 3_000 + b"?><!DOCTYPE a [" + b" " * 30_000 + b"]><a><b/>",
            ("a", ""),
            "b",
        ),
        ("<?xml version='1.0' encoding='UTF-16'?><a><b/></a>".encode("utf-16-le"), ("a", ""), "b"),
        ("<a><b/></a>".encode("utf-16-le"), ("a", ""), "b"),
        ("<a><b/></a>".encode("utf-32-le"), ("a", ""), "b"),
        (b"", None, ""),
        (b"{}", None, ""),
        *((b"<?xml version='1.0' encoding='%s'?><a/>" % name, None, "") for name in (b"hex", b"idna", b"undefined", b"rot13")),
        (b"\\documentclass{article}", None, ""),
    ],
)
def test_the_root_and_its_first_child(data: bytes, root: tuple[str, str] | None, child: str):
    content = Content(data)
    assert (content.root, content.first_child) == (root, child)


def test_json_is_parsed_once_and_other_bytes_are_none():
    content = Content(b' [{"a": 1}]')
    assert content.json == [{"a": 1}]
    assert content.json is content.json
    assert [Content(data).json for data in (b"", b"a", b"{", b"\xff{}", b"1")] == [None] * 5


def test_text_is_utf8_or_windows_1252():
    assert Content("\ufeffé".encode()).text == "é"
    assert Content("é".encode("cp1252")).text == "é"
    assert Content(b"a\0b").text is None


@given(st.binary(max_size=200) | st.text("<>!-?[]'\"= ax:DOCTYPE", max_size=200).map(str.encode))
def test_any_bytes_can_be_looked_at(data: bytes):
    content = Content(data)
    assert content.root is None or content.root[0]
    assert content.text is None or isinstance(content.text, str)
    assert content.json is None or data.lstrip()[:1] in (b"{", b"[")


@pytest.mark.parametrize(
    "unit",
    [b"<!--", b"<!DOCTYPE a [", b"<?a ", b"<a b='", b"<!-- -->", b"<!DOCTYPE a [x]>", b" ", b"<a ", b"-", b"<!DOCTYPE a"],
)
def test_hostile_beginnings_take_no_time(unit: bytes):
    began = time.process_time()
    assert Content(unit * 20_000).first_child == ""
    assert time.process_time() - began < 2
