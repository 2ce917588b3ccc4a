"""Tests of MECA packages: the article of the manifest, and hostile archives."""

from __future__ import annotations

import contextlib
import io
import struct
import time
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflink.errors import NotAPaper, TooLarge
from reflink.formats import Content, Options, format_of, parse
from reflink.limits import Limits
from tests.data import shared_data
from tests.reflink.jats.articles import article

ARTICLE = article('<ref id="a"><mixed-citation>A</mixed-citation></ref>')
BIORXIV = (
    '<manifest xmlns="http://manuscriptexchange.org"><item type="article"><instance media-type="{0}" href="{1}"/></item>'
    "</manifest>"
)
NISO = (
    '<!DOCTYPE manifest PUBLIC "-//MECA//DTD Manifest v1.0//en" "https://meca.zip/manifest-1.0.dtd">'
    '<manifest xmlns="https://manuscriptexchange.org/schema/manifest" xmlns:xlink="http://www.w3.org/1999/xlink">'
    '<item item-type="transfer-metadata"><instance media-type="application/xml" xlink:href="transfer.xml"/></item>'
    '<item item-type="review-metadata"><instance media-type="application/xml" xlink:href="review.xml"/></item>'
    '<item item-type="article-metadata"><instance media-type="{0}" xlink:href="{1}"/></item></manifest>'
)


def package(manifest: str, members: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        if manifest:
            archive.writestr("manifest.xml", manifest)
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.mark.parametrize("manifest", [BIORXIV, NISO])
@pytest.mark.parametrize(
    ("href", "name"),
    [("content/1.xml", "content/1.xml"), ("./a.xml", "a.xml"), ("a%20b.xml", "a b.xml"), ("content/1.nxml", "content/1.nxml")],
)
@pytest.mark.parametrize("media", ["application/xml", "application/vnd.jats+xml; charset=utf-8", ""])
def test_the_article_of_the_manifest(manifest: str, href: str, name: str, media: str) -> None:
    others = {"transfer.xml": article("<ref><citation>T</citation></ref>"), "review.xml": b"<review/>", "mimetype": b"x"}
    content = Content(package(manifest.format(media, href), {**others, name: ARTICLE}), "p")
    assert format_of(content).name == "meca"
    (found,) = parse(content)
    assert [each.id for each in found.paper.references] == ["doi:10.1000/own#a.1"]


def test_a_package_within_a_folder() -> None:
    data = package(
        "", {"folder/manifest.xml": BIORXIV.format("application/xml", "c/1.xml").encode(), "folder/c/1.xml": ARTICLE}
    )
    assert len(parse(Content(data, "p"))[0].paper.references) == 1


def test_full_text_precedes_metadata() -> None:
    items = "".join(
        f'<item item-type="{kind}"><instance media-type="application/xml" href="{kind}.xml"/></item>'
        for kind in ("manuscript", "article-metadata", "article")
    )
    members = {"manuscript.xml": b"<TEI/>", "article-metadata.xml": article(), "article.xml": ARTICLE}
    assert len(parse(Content(package(f"<manifest>{items}</manifest>", members)))[0].paper.references) == 1


def items(**files: str) -> str:
    """Return a manifest with an item for each file, by its type."""
    each = '<item item-type="{}"><instance media-type="application/xml" href="{}"/></item>'
    return f"<manifest>{''.join(each.format(kind.replace('_', '-'), name) for kind, name in files.items())}</manifest>"


def unreadable(data: bytes, name: str, *, flag: int = 0, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a package whose directory states another flag and method for a member."""
    found = bytearray(data)
    at = found.rfind(b"PK\x01\x02", 0, found.rfind(name.encode()))
    struct.pack_into("<HH", found, at + 8, flag, method)
    return bytes(found)


@pytest.mark.parametrize("bad", [b"<TEI/>", b"", b"\0\0", b"<article><x/></article>", b"<review/>"])
def test_an_item_that_is_no_article_does_not_hide_one(bad: bytes) -> None:
    data = package(items(article="1.xml", manuscript="2.xml"), {"1.xml": bad, "2.xml": ARTICLE})
    assert len(parse(Content(data, "p"))[0].paper.references) == 1


@pytest.mark.parametrize(
    ("flag", "method"), [(1, zipfile.ZIP_DEFLATED), (0, zipfile.ZIP_LZMA), (0, 97), (0, zipfile.ZIP_STORED)]
)
def test_an_unreadable_item_does_not_hide_an_article(flag: int, method: int) -> None:
    data = package(items(article="1.xml", manuscript="2.xml"), {"1.xml": ARTICLE, "2.xml": ARTICLE})
    assert len(parse(Content(unreadable(data, "1.xml", flag=flag, method=method), "p"))[0].paper.references) == 1
    for name in ("1.xml", "2.xml"):
        data = unreadable(data, name, flag=flag, method=method)
    with pytest.raises(NotAPaper, match=r"names no article in XML: 1\.xml, 2\.xml \(1\.xml "):
        parse(Content(data, "p"))


def test_an_article_with_references_precedes_one_without() -> None:
    stub, other = article(), article('<ref id="b"><mixed-citation>B</mixed-citation></ref>')
    members = {"1.xml": stub, "2.xml": ARTICLE, "3.xml": other}
    for manifest, expected in (
        (items(article_metadata="1.xml", manuscript="2.xml", metadata="3.xml"), ["a"]),
        (items(article_metadata="1.xml", manuscript="3.xml", metadata="2.xml"), ["b"]),
        (items(article_metadata="1.xml"), []),
    ):
        (found,) = parse(Content(package(manifest, members), "p"))
        assert [each.xml_id for each in found.paper.references] == expected


def test_an_article_inside_another_element() -> None:
    inside = b"<x>" + ARTICLE + b"</x>"
    data = package(BIORXIV.format("application/xml", "1.xml"), {"1.xml": inside})
    assert parse(Content(data, "p")) == parse(Content(inside, "p"))


def test_all_candidates_together_are_bounded() -> None:
    """Also damaged ones: what was unpacked of them counts."""
    names = [f"{number}.xml" for number in range(20)]
    data = package(
        f"<manifest><item type='article'>{''.join(f'<instance href={name!r}/>' for name in names)}</item></manifest>",
        dict.fromkeys(names, b"<TEI>" + b" " * 100_000),
    )
    damaged = data.replace(struct.pack("<L", zlib.crc32(b"<TEI>" + b" " * 100_000)), bytes(4))
    assert damaged != data
    for each in (data, damaged):
        with pytest.raises(TooLarge):
            parse(Content(each, "p"), options=Options(limits=Limits(size=1_000_000)))


def test_nested_items() -> None:
    """An instance belongs to the item that is nearest to it; a path counts once; the time is linear."""
    nested = '<item type="article">' * 200 + "{}" + "</item>" * 200
    many = "".join(f'<instance href="{number % 20_000}.xml"/>' for number in range(40_000))
    start = time.process_time()
    with pytest.raises(NotAPaper, match=r"names no article in XML: 0\.xml, 1\.xml, 2\.xml"):
        parse(Content(package(f"<manifest>{nested.format(many)}</manifest>", {"x.xml": ARTICLE}), "p"))
    assert time.process_time() - start < 5
    figure = '<item type="article"><item type="figure"><instance href="1.xml"/></item><instance href="2.xml"/></item>'
    members = {"1.xml": article('<ref id="f"><mixed-citation>F</mixed-citation></ref>'), "2.xml": ARTICLE}
    (found,) = parse(Content(package(f"<manifest>{figure}</manifest>", members), "p"))
    assert [each.xml_id for each in found.paper.references] == ["a"]


@pytest.mark.parametrize(
    "href", ["/etc/passwd.xml", "../1.xml", "a/../../1.xml", "file:1.xml", "a\\..\\1.xml", "http://x/1.xml", "%2e%2e/1.xml", ""]
)
def test_paths_that_leave_the_archive(href: str) -> None:
    content = Content(package(BIORXIV.format("application/xml", href), {"1.xml": ARTICLE, href or "x": ARTICLE}), "p")
    with pytest.raises(NotAPaper, match=r"p: manifest\.xml names no article in XML"):
        parse(content)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (package(BIORXIV.format("application/pdf", "1.pdf"), {"1.pdf": b"%PDF"}), "names no article in XML"),
        (package(BIORXIV.format("application/xml", "2.xml"), {"1.xml": ARTICLE}), "names no article in XML: 2.xml"),
        (package(BIORXIV.format("application/xml", "1.xml"), {"1.xml": b"<TEI/>"}), "names no article in XML: 1.xml"),
        (package("", {"1.xml": ARTICLE}), "not a MECA package: no manifest.xml"),
        (package("not XML", {"1.xml": ARTICLE}), "not XML"),
        (package(BIORXIV.format("application/xml", "1.xml"), {"1.xml": ARTICLE}, method=zipfile.ZIP_LZMA), "unusual way"),
        (b"PK\x03\x04", "without its end"),
    ],
)
def test_packages_without_an_article(data: bytes, reason: str) -> None:
    with pytest.raises(NotAPaper, match=reason):
        parse(Content(data, "p"), format_name="meca")


def test_other_zip_archives_are_not_recognised() -> None:
    with pytest.raises(NotAPaper, match="known formats"):
        format_of(Content(package("", {"[Content_Types].xml": b"<Types/>"}), "p"))


@pytest.mark.parametrize("bomb", ["manifest.xml", "1.xml"])
def test_a_member_that_unpacks_to_more_than_the_limit(bomb: str) -> None:
    """Also if its header states a small size: the data of the member decide."""
    big = b"<article>" + b" " * 10_000_000
    members = {"1.xml": big if bomb == "1.xml" else ARTICLE}
    manifest = BIORXIV.format("application/xml", "1.xml") + (" " * 10_000_000 if bomb == "manifest.xml" else "")
    data = package(manifest, members)
    limits = Limits(size=1_000_000)
    with pytest.raises(TooLarge, match="p: unpacks to more than"):
        parse(Content(data, "p"), options=Options(limits=limits))
    lying = data.replace(struct.pack("<L", 10_000_009), struct.pack("<L", 100))
    with pytest.raises((TooLarge, NotAPaper)):
        parse(Content(lying, "p"), options=Options(limits=limits))


def test_the_directory_is_bounded() -> None:
    data = bytearray(package(BIORXIV.format("application/xml", "1.xml"), {"1.xml": ARTICLE}))
    data[-10:-6] = struct.pack("<L", 2**31)
    with pytest.raises(TooLarge, match="directory"):
        parse(Content(bytes(data), "p"), format_name="meca")


def test_an_encrypted_member() -> None:
    data = bytearray(package(BIORXIV.format("application/xml", "1.xml"), {"1.xml": ARTICLE}))
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(NotAPaper, match="encrypted"):
        parse(Content(bytes(data), "p"), format_name="meca")


@given(st.integers(0), st.binary(max_size=12), st.integers(0, 40))
def test_damaged_packages_raise_only_named_errors(at: int, put: bytes, length: int) -> None:
    whole = package(NISO.format("application/xml", "1.xml"), {"1.xml": ARTICLE})
    at %= len(whole)
    content = Content(whole[:at] + put + whole[at + length :], "x")
    with contextlib.suppress(NotAPaper, TooLarge):
        parse(content, format_name="meca")
    with contextlib.suppress(NotAPaper):
        format_of(content)


def test_real_packages() -> None:
    """Each is zipped again from the files of the package, of which the figures are missing."""
    references = 0
    for folder in sorted((shared_data() / "sources" / "meca").iterdir()):
        if (folder / "manifest.xml").exists():
            files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
            content = Content(package("", files), folder.name)
            assert format_of(content).name == "meca"
            (found,) = parse(content, options=Options(infer=False))
            (name,) = (each for each in files if each.startswith("content/"))
            (direct,) = parse(Content(files[name], folder.name), options=Options(infer=False))
            assert found == direct
            references += len(found.paper.references)
    assert references > 400
