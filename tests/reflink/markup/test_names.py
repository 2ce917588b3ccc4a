from lxml import etree

from reflink.markup.names import plain_names


def test_namespaces_and_prefixes_are_removed():
    root = etree.fromstring(
        '<ce:a xmlns:ce="urn:ce" xmlns:x="urn:x" x:href="h" id="i"><!-- c --><b xmlns="urn:b" xml:lang="en">t</b></ce:a>'
    )
    plain_names(root)
    assert (root.tag, dict(root.attrib)) == ("a", {"href": "h", "id": "i"})
    assert (root[-1].tag, dict(root[-1].attrib), root[-1].text) == ("b", {"lang": "en"}, "t")


def test_malformed_names_of_recovered_xml():
    root = etree.fromstring("<r><a:>x</a:><ce:b y:z='1'>y</ce:b></r>", etree.XMLParser(recover=True))
    plain_names(root)
    assert all(":" not in each.tag and ":" not in "".join(each.keys()) for each in root.iter())
    assert "".join(root.itertext()) == "xy"
