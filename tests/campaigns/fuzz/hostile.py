"""Words for the mutations: names, characters, and texts that cause errors in parsers and patterns."""

from __future__ import annotations

from typing import Final

#: Elements that the parser knows, their neighbours, and some that do not belong in an article.
NAMES: Final = (
    "article", "front", "back", "body", "article-meta", "journal-meta", "ref-list", "ref", "label", "mixed-citation",
    "element-citation", "citation", "nlm-citation", "citation-alternatives", "person-group", "name", "surname", "given-names",
    "string-name", "collab", "etal", "article-title", "chapter-title", "part-title", "data-title", "trans-title", "source",
    "year", "month", "volume", "issue", "fpage", "lpage", "page-range", "elocation-id", "pub-id", "object-id", "ext-link",
    "uri", "self-uri", "comment", "date-in-citation", "publisher-name", "publisher-loc", "edition", "conf-name", "italic",
    "bold", "sup", "sub", "xref", "fn", "inline-formula", "alternatives", "tex-math", "mml:math", "mml:mi", "graphic", "note",
    "p", "article-id", "title-group", "contrib-group", "contrib", "pub-date", "abstract", "sub-article", "response",
    "front-stub", "related-article", "related-object", "product", "issn", "journal-title", "abbrev-journal-title",
    "styled-content", "ruby", "table", "html", "TEI", "x", "_", "a.b-c",
)  # fmt: skip

#: Attributes, including those whose values the parser interprets.
ATTRIBUTES: Final = (
    'id="r1"', 'id="1"', 'id="2"', 'id="B1"', 'id=""', 'id=" "', 'id="a#b"', 'id="a b"', 'id="\u202e"', 'id="1.1"',
    f'id="{"i" * 101}"', 'pub-id-type="doi"', 'pub-id-type="pmid"', 'pub-id-type="pmcid"', 'pub-id-type="pmc"',
    'pub-id-type="arxiv"', 'pub-id-type="medline"', 'pub-id-type="DOI"', 'pub-id-type="other"', 'ext-link-type="doi"',
    'ext-link-type="uri"', 'ext-link-type="pmcid"', 'person-group-type="editor"', 'person-group-type="author"',
    'person-group-type="allauthors"', 'publication-type="display-unstructured"', 'publication-type="journal"',
    'citation-type="book"', 'contrib-type="author"', 'contrib-type=""', 'abstract-type="toc"', 'xml:lang="EN"', 'xml:lang=""',
    'xml:space="preserve"', 'xml:base="file:///etc/"', 'xml:id="r1"', 'iso-8601-date="2020-01-01"', 'name-style="eastern"',
    'article-type="correction"', 'related-article-type="corrected-article"', 'specific-use="x&#10;y"', 'xmlns=""',
    'xmlns="http://jats.nlm.nih.gov"', 'xmlns="urn:x"', 'xmlns:x="urn:x"', 'xmlns:xlink="urn:other"',
    'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="https://doi.org/10.1000/abc"',
    'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="javascript:&#0;"', 'a="x > y"', "a='\"'", 'a="\'>"',
    'a="&lt;ref>"', 'a="&amp;&quot;&apos;"', 'a="&eacute;&undefined;"', 'a="&#10;&#9;&#13;"', 'a="]]>"', 'a="<"', "a=b", "a",
    'a="1" a="2"', 'a="&#xD800;"', 'a="&#0;"', 'a="&', 'publication-type="a&#10;b"', 'id="&#xFFFE;"', 'id="x&#x2028;y"',
)  # fmt: skip

#: Unicode that code for text often ignores: combining, directional, joining, private, non- and astral characters, white space.
CHARACTERS: Final = (
    "\u0301", "a\u0301\u0301\u0301", "\u202e", "\u200f\u05d0", "\u200b", "\u200d", "\u2060", "\ufeff", "\ue000", "\ufffd",
    "\ufdd0", "\U0001f600", "\U0010fffd", "\U0001d538", "\u01c5", "\u0130", "\u00df", "\ufb01", "\u1e9e", "\u03c2", "\u0661",
    "\uff11\uff10\uff0e", "\u00b2", "\u2460", "\u4e00", "\uac00\u1100\u1161", "\u00a0", "\u0085", "\u2028", "\u2029", "\u3000",
    "\u1680", "\u2003", "\u202f", "\u205f", "\u180e", "\t", "\r", "\r\n", "\n\n", "\x7f", "\x80", "\x9f", "\u00ad", "\u2011",
    "\u2212", "\u2013", "\u2014", "\u2044", "\u0337", "\u0e33", "\u0f0c", "\u1160", "\u115f", "\u3164", "\U000e0041", "\ufe0f",
    "\u0600", "\u06dd", "\U000110bd", "\u034f", "\uff0f", "\uff1a", "\uff08\uff09",
)  # fmt: skip

#: Character and entity references; about half of them are forbidden in XML.
CHARACTER_REFERENCES: Final = (
    "&#0;", "&#x0;", "&#1;", "&#x1;&#x1;", "&#8;", "&#x1F;", "&#xD800;", "&#xDFFF;", "&#xD83D;&#xDE00;", "&#xFFFE;",
    "&#xFFFF;", "&#x110000;", "&#x7FFFFFFF;", "&#99999999999;", "&#-1;", "&#x;", "&#;", "&#10;", "&#13;", "&#x85;", "&#xA0;",
    "&#x2028;", "&#x7F;", "&#x9F;", "&#x1F600;", "&#xFDD0;", "&#60;", "&#38;", "&#38;lt;", "&#0000000000000000065;", "&lt;",
    "&gt;", "&amp;", "&quot;", "&apos;", "&amp;amp;lt;", "&nbsp;", "&eacute;", "&Thetas;", "&nonsense;", "&", "&;", "& ",
    "&amp", "&a.b-c;", "&xxe;", "&e9;", "%pe;", "&lt;/ref>", "&ThickSpace;", "&NotEqualTilde;",
)  # fmt: skip

#: Identifiers: correct, nearly correct, and concatenated with others.
IDENTIFIERS: Final = (
    "10.1000/abc", "doi:10.1000/ABC", "https://doi.org/10.1000/a%2Fb", "10.1000/a%25252f",
    "10.1000/(SICI)1097(1999)3:1<1::A>3.0.CO;2-#", "10.1002/(SICI)1097-0134(19990101)34:1&lt;1::AID-PROT1&gt;3.0.CO;2-C",
    "10.1000/", "10.1000/.", "10.1000/((((", "10.1000/%", "10.1000/%FF", "10.1000/&amp;lt;", "10. 1000 / abc",
    "10.1000.1.1.1/x", "110.1000/x", "10.99999999999/x", "10.1000/x.", "10.1000/\u4e00", "10.1000/x\u200b", "10.1000/\u0130",
    "10.48550/arXiv.1706.03762v5", "10.1000/xPMID:123", "10.1000/a#b", "10.1000/10.1000/10.1000/x", "doi.org/doi:10.1000/x",
    "10.1000%2Fx", "10.1000/x%00y", "10.1000/x%0Ay", "10.1000/x%20y", "10.1000/%3Cx%3E", "10.\u0661\u0662\u0663\u0664/x",
    "PMID: 00012345", "PMID:123456789", "pmid", "PMID 12345; PMCID: PMC12345", "PMC0", "PMC000123456", "pmcpmc123456",
    "PMC\u0661\u0662\u0663", "PMC13900.2", "PubMed: 1", "PMID: \u0661\u0662\u0663", "arXiv:1706.03762v99",
    "arxiv:hep-th/9901001", "arXiv:math.GT/0309136", "arXiv:1706.0376", "arxiv.org/abs/1706.03762.pdf", "hep-th/9901001v",
    "http://", "http://www.www.www.", "ftp://x", "www.a", "https://pubmed.ncbi.nlm.nih.gov/12345/",
    "www.10.1000/x.http://10.1000/y", "info:pmid/123", "doi:", "DOI DOI DOI", "[PubMed: 123] [PMC: 456]", "12345", "0",
    "00000", "\x01",
)  # fmt: skip

#: Strings that, repeated many times, may make a pattern slow.
BAIT: Final = (
    "10.", "10.1000/", "(", ")", "[", "((((((", "()", "( ) ", "doi:", "doi: ", "doi.org/", "http://", "http:// ", "www.",
    "a) b) c) ", "; Wang X, J. Sun 2004, 1, 2", "; ibid. 2004, 3, 4", "; 5, 6 (2004)",
    "a) 2004; b) 2005; ", "PMID ", "pmid:", "pmc", "pmc-id: ", "pm-id.#", "pubmed id: ", "pubmed ", "arxiv: ",
    "arxiv preprint ", "arxiv.", ". ", ", ", " .", "; ;",
    "<", "&lt;", "%25", "%2F", "&amp;", "&amp;amp;", "0", "1", "9", "1.", "1.1.", " ",
    "\u00a0", "\u2028", "\t", "-", "\u2013", "A.", "A.-", "Wang X, ", "Wang, X., ", "&amp; ", "et al. ", "and ", "(2004) ",
    "2004", "1999-", "12(3):", "pp. ", "vol. ", "In: ", "a", "\u0301", "a\u0301", "\U0001f600", "\u4e00", "\"", "'", "\u201c",
    ":", "/", "#", "_", "~", "\\", "{", "}", "|", "\x01", "&#1;", "ed. ", "10.1000/x;2-#", "::", "<::>", "(SICI)", "3.0.CO;2-",
    "pii ", "medline ", "[PubMed", "epub ", ".epub", "https", "ftp://a ",
)  # fmt: skip

_BOMB: Final = '<!ENTITY e0 "haha">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
#: DOCTYPEs, placed before the root element.
DOCTYPES: Final = (
    "<!DOCTYPE article>",
    '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS//EN" "http://example.invalid/x.dtd">',
    '<!DOCTYPE article SYSTEM "file:///etc/passwd">',
    '<!DOCTYPE article [<!ENTITY xxe SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE article [<!ENTITY xxe PUBLIC "x" "file:///etc/passwd"> <!ENTITY e9 "&xxe;">]>',
    '<!DOCTYPE article [<!ENTITY % pe SYSTEM "file:///etc/passwd"> %pe; ]>',
    "<!DOCTYPE article [<!ENTITY % a '&#60;!ENTITY xxe SYSTEM \"file:///etc/passwd\">'> %a; ]>",
    f"<!DOCTYPE article [{_BOMB}]>",
    '<!DOCTYPE article [<!ENTITY e9 "&e9;">]>',
    '<!DOCTYPE article [<!ENTITY e9 "<ref id=\'e\'><citation>e</citation></ref>"> <!ENTITY xxe "&#60;x>">]>',
    '<!DOCTYPE article [<!ENTITY eacute "E"> <!ENTITY lt "&#38;#60;"> <!ENTITY amp "x">]>',
    '<!DOCTYPE article [<!ENTITY xxe "&#xD800;"> <!ENTITY e9 "&#0;">]>',
    '<!DOCTYPE article [<!ATTLIST ref id CDATA "default"> <!ATTLIST article xmlns CDATA "urn:x">]>',
    '<!DOCTYPE article [<!ELEMENT article ANY> <!NOTATION n SYSTEM "x"> <?pi ]> ?> <!-- ]> " \' --> ]>',
    "<!DOCTYPE article [<!ENTITY e9 'it''s']> ]>",
    "<!DOCTYPE article [",
    '<!DOCTYPE article "',
    "<!DOCTYPE article [<!ENTITY" + " " * 3000 + "x>]>",
    "<!DOCTYPE article [" + "<" * 3000 + "]>",
    "<!DOCTYPE article [" + "<!-- " * 500 + "]>",
    "<!DOCTYPE article [" + "'\"" * 500 + "]>",
    "<!DOCTYPE article><!DOCTYPE article>",
    "<!DOCTYPE html>",
    "<!doctype article>",
    "<!-- <!DOCTYPE article [ -->",
)

#: Markup other than elements, markup that refers to external files, and elements out of place.
FRAGMENTS: Final = (
    "<!-- <ref id='c'><citation>no</citation></ref> -->", "<!---->", "<!-- -- -->", "<!-- -->-->", "<!--", "<![CDATA[<ref>]]>",
    "<![CDATA[]]>", "<![CDATA[ ]] > ]]>", "<![CDATA[", "<![CDATA[&eacute;&#0;]]>", "<?pi <ref> ?>", "<?pi?>",
    "<?xml version='1.0'?>", "<?xml-stylesheet href='file:///etc/passwd'?>", "<?", "<!", "<", "</", ">", "]]>", "</ref>",
    "</article>", "<ref>", "<ref/>",
    "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='file:///etc/passwd' parse='text'/>",
    "<xi:include xmlns:xi='http://www.w3.org/2003/XInclude' href='file:///etc/passwd'/>", "<article><front/></article>",
    "<mixed-citation/>", "<mixed-citation> </mixed-citation>", "<label>9</label>", "<tex-math>$x$</tex-math>",
    "<year>2004a</year>", "<year>20045</year>", "<year>1200</year>", "<year>\u0662\u0660\u0660\u0664</year>", "<fpage/>",
    "<fpage>-</fpage>", "<surname/>", "<surname> </surname>", "<string-name>, X</string-name>",
    "<string-name>A. B.</string-name>", "<collab>The Group</collab>", "<volume>\u00a0</volume>",
    "<mml:math xmlns:mml='http://www.w3.org/1998/Math/MathML'><mml:mi>x</mml:mi></mml:math>", "<x:y/>",
    "<x:ref><x:citation>p</x:citation></x:ref>", "<date-in-citation>2011</date-in-citation>",
    "<pub-id pub-id-type='doi'>10.1000/abc</pub-id>", "<pub-id pub-id-type='pmid'>123</pub-id>",
    "<ext-link ext-link-type='uri'>http://www.x.org</ext-link>", "<article-title>Part</article-title>", "<fn><p>note</p></fn>",
    "<ref id='n'><ref id='m'><citation>x</citation></ref></ref>", "<citation><citation>inner</citation> outer</citation>",
    "\x00", "\x01", "\x0b", "<element-citation publication-type='display-unstructured'>Shown, as. It is</element-citation>",
    "<n\u00e4me/>", "<1/>", "<a b=c>",
)  # fmt: skip

#: Elements that a citation may contain thousands of times; ``{}`` is a number.
REPEATED: Final = (
    "<name><surname>A{}</surname></name>", "<person-group><name><surname>A{}</surname></name></person-group>",
    "<article-title>t{}</article-title>", "<pub-id pub-id-type='doi'>10.1000/{}</pub-id>", "<italic>{}</italic>", "<x>{}</x>",
    "<ext-link>{}</ext-link>", "<string-name>A {}</string-name>", "<citation>{}</citation>",
    "<ref id='q{}'><citation>x</citation></ref>", "<year>{}</year>", "<sub/>", "<comment/>", "<name><surname/></name>",
)  # fmt: skip

#: Units that a flood repeats thousands of times, and below the articles around them, to find superlinear running times.
FLOODS: Final = (
    "<citation>w{} t{}</citation>", "<citation>w{}</citation><nlm-citation>u{}</nlm-citation>",
    "</ref><ref id='{}'><citation>x{}</citation>", "</ref><ref id='a'><citation>x{}</citation>",
    "<citation><article-title>A{}</article-title></citation>", "<citation-alternatives>",
    "<mixed-citation>{}</mixed-citation><element-citation>{}</element-citation>", "</ref><ref><citation>x</citation>",
    "<x xmlns='urn:{}'/>", "<x xmlns:n{}='urn:{}'/>", "<a{}/>", "<citation>&eacute;", "&e{};", "&", "<!--", "<!-- -->",
    "<![CDATA[", "<![CDATA[]]>", "<?", "<?a?>", "<?a ?>", "<!DOCTYPE a [", "<!DOCTYPE a>", "<!ENTITY a", "<!ENTITY e{} 'x'>",
    "]>", "]]>", "'", "<", ">", "<a", "<a b='", "</ref>", "<article><front/>", "<front/>", "<sub-article><front-stub/>",
    "<ref>", "<label>", "<note>", "&#1;", "&#xD800;", "&amp;", "&lt;", "%a;", "\n",
)  # fmt: skip
#: ``{}`` is the position of the flood.
AROUND: Final = (
    "<article><front/><back><ref-list><ref>{}</ref></ref-list></back></article>",
    "<article><front/><back><ref-list><ref><citation>&x;{}</citation></ref></ref-list></back></article>",
    "<article><front><article-meta><abstract>{}</abstract></article-meta></front></article>",
    "<article><front><article-meta>{}</article-meta></front></article>",
    "<!DOCTYPE article [{}]><article><front/>&x;</article>",
    "{}<article><front/></article>",
    "<article><front/></article>{}",
)
