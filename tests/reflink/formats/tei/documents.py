"""Small TEI documents for tests."""

from __future__ import annotations


def tei(entries: str = "", *, header: str = "", body: str = "", prefix: str = "") -> str:
    """Return a document with these citations, header and body. ``prefix``: of all names that this function writes."""
    space = f'xmlns{":" + prefix.rstrip(":") if prefix else ""}="http://www.tei-c.org/ns/1.0"'
    plain = (
        f"<TEI {space}><teiHeader><fileDesc>{header}</fileDesc></teiHeader><text><body>{body}</body>"
        f'<back><div type="references"><listBibl>{entries}</listBibl></div></back></text></TEI>'
    )
    if not prefix:
        return plain
    for name in ("TEI", "teiHeader", "fileDesc", "text", "body", "back", "div", "listBibl"):
        plain = plain.replace(f"<{name} ", f"<{prefix}{name} ").replace(f"<{name}>", f"<{prefix}{name}>")
        plain = plain.replace(f"</{name}>", f"</{prefix}{name}>")
    return plain


ARTICLE = """
<biblStruct xml:id="b0">
	<analytic>
		<title level="a" type="main">On tests</title>
		<author>
			<persName><forename type="first">Jane</forename><forename type="middle">A</forename>
            <surname>Doe</surname></persName>
		</author>
		<author>
			<orgName type="collaboration">ATLAS Collaboration</orgName>
		</author>
		<idno type="DOI">10.5555/X1</idno>
	</analytic>
	<monogr>
		<title level="j">Journal of Tests</title>
		<title level="j" type="abbrev">J. Tests</title>
		<idno type="ISSN">0000-0019</idno>
		<imprint>
			<biblScope unit="volume">5</biblScope>
			<biblScope unit="issue">2</biblScope>
			<biblScope unit="page" from="1013" to="1019" />
			<date type="published" when="2020-05-01">2020</date>
			<publisher>Press</publisher>
		</imprint>
	</monogr>
	<note type="raw_reference">Doe JA, ATLAS Collaboration. On tests. J. Tests 2020; 5(2): 1013-9.</note>
</biblStruct>
"""
