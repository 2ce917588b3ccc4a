"""Tests of MECA packages: the article of the manifest, and hostile archives."""

from __future__ import annotations

import contextlib
import io
import struct
import zipfile

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
