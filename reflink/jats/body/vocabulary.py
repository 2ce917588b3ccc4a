"""How each element of JATS takes part in the text of an article. Elements that are not listed are part of a line of text."""

from __future__ import annotations

from typing import Final

from reflink.contexts.paragraphs import Part

#: Elements that begin and end a paragraph.
BLOCKS: Final = frozenset(
    "p title subtitle list list-item def-list def-item term def disp-quote verse-group verse-line speech speaker statement "
    "attrib caption table-wrap-foot fn-group ack app app-group notes note glossary bio sig sig-block preformat code front "
    "front-stub article-meta abstract trans-abstract body back sub-article response floats-group sec author-notes "
    "table thead tbody tfoot array question question-wrap answer answer-set explanation ref chem-struct-wrap "
    "disp-formula-group dedication foreword preface front-matter front-matter-part named-book-part-body book-part book-front "
    "book-body book-back book-app book-part-meta book-meta".split()
)
#: Elements that stand beside the text: their paragraphs follow the paragraph in which they are.
FLOATS: Final = frozenset(
    "fig fig-group table-wrap table-wrap-group boxed-text fn supplementary-material media graphic".split()
)
#: Elements whose paragraphs stand in a section with the title of the element.
SECTIONS: Final = frozenset(
    "sec app app-group ack notes glossary abstract trans-abstract bio boxed-text fn-group statement ref-list "
    "sub-article response book-part dedication foreword preface book-app".split()
)
#: Elements that are no text. Their text is read only if it mentions a reference.
SKIPPED: Final = frozenset(
    "label alt-text long-desc object-id permissions kwd-group sec-meta processing-meta journal-meta collection-meta "
    "ref-list toc toc-group index index-group".split()
)
#: Elements with metadata, and the children of them that are text.
METADATA: Final = frozenset(("front", "front-stub", "article-meta", "book-meta", "book-part-meta"))
METADATA_TEXT: Final = METADATA | {"abstract", "trans-abstract", "author-notes", "notes"}
#: Rows of tables. Their cells are parts of one line.
ROWS: Final = frozenset(("tr", "row"))
CELLS: Final = frozenset(("td", "th", "entry"))
#: Parts of a person's name and line breaks, which separate words.
SEPARATE: Final = frozenset(("surname", "given-names", "prefix", "suffix", "break"))
#: The part of the paper that an element begins. Every other element is in the part of its parent.
PARTS: Final[dict[str, Part]] = {
    "abstract": "abstract", "trans-abstract": "abstract", "body": "body", "back": "back", "caption": "caption",
    "table": "table", "array": "table", "fn": "footnote", "fn-group": "footnote", "table-wrap-foot": "footnote",
    "author-notes": "footnote", "ref-list": "back",
}  # fmt: skip
