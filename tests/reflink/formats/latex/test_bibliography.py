"""Bibliographies in the styles of BibTeX, biblatex, amsrefs, and by hand."""

from typing import Any

import pytest

from tests.reflink.formats.latex.sources import BBL, DOCUMENT, bibliography, targz
from tests.reflink.formats.reading import fields, parsed


def texts(items: str) -> list[str]:
    return [each.raw_text for each in parsed(bibliography(items))[0].paper.references]


def one(items: str) -> dict[str, Any]:
    (found,) = fields(bibliography(items))
    return found


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"J.~M{\"u}ller and \'E. \v{C}ech, {\em On {T}ests}, \textbf{12}, 1--9 (1990).",
         "J. Müller and É. Čech, On Tests, 12, 1–9 (1990)."),
        (r"S.~K\'erd\H{o}s, \o{}re, {\L}ukasz, na{\"\i}ve \c{c} \aa{} \ss", "S. Kérdős, øre, Łukasz, naïve ç å ß"),
        (r"$^{3}$He and $\alpha$ at $\sqrt{s}=7$ TeV, \enquote{a title} ``b'' in \apj, 1990",
         "3He and α at √s=7 TeV, “a title” “b” in ApJ, 1990"),
        (r"A\&A, \textit{x}\/ y\,z, 5\% \emph{et al.}, in \url{http://a.b/~c%20d_e}", "A&A, x y z, 5% et al., in http://a.b/~c%20d_e"),
        (r"{\noopsort{1990}}A, \hskip 1em plus 0.5em minus 0.4em\relax IEEE, \penalty0 1990", "A, IEEE, 1990"),
    ],
)  # fmt: skip
def test_the_text_is_what_tex_prints(source: str, text: str):
    assert texts(f"\\bibitem{{a}} {source}") == [text]


def test_macros_of_the_paper_are_read_with_their_arguments():
    head = (
        "\\def\\plb#1#2#3{Phys. Lett. B {\\bf #1} (#2) #3}\\newcommand{\\jt}[2][7]{J. Tests #1, "
        "#2}\\def\\PR#1(#2){Phys. Rev. #1 (#2)}"
        "\\let\\np=\\nuc\\def\\nuc{Nucl. Phys.}"
    )
    items = (
        "\\bibitem{a} A. Bee, \\plb{234}{1990}{1}.\\bibitem{b} C. Dee \\jt{8}; \\jt[9]{8}\\bibitem{c} \\PR 12(1990) 5, \\np\\ 3"
    )
    found = [each.raw_text for each in parsed(head + bibliography(items))[0].paper.references]
    assert found == [
        "A. Bee, Phys. Lett. B 234 (1990) 1.",
        "C. Dee J. Tests 7, 8; J. Tests 9, 8",
        "Phys. Rev. 12 (1990) 5, Nucl. Phys. 3",
    ]


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        (r"\href{http://dx.doi.org/10.5555/a_b}{J. Tests 1 (1990) 2}", {"doi": "10.5555/a_b"}),
        (r"\doi{10.5555/a\_b}", {"doi": "10.5555/a_b"}),
        (r"\dodoi{10.5555/ab}, \doarXiv{1801.02489}", {"doi": "10.5555/ab", "arxiv": "1801.02489"}),
        (r"[\href{http://arxiv.org/abs/hep-th/9711200v3}{{\tt hep-th/9711200}}]", {"arxiv": "hep-th/9711200"}),
        (r"\eprint{1801.02489}", {"arxiv": "1801.02489"}),
        (r"\Eprint {http://arxiv.org/abs/arXiv:astro-ph/9608010} {arXiv:astro-ph/9608010}", {"arxiv": "astro-ph/9608010"}),
        (r"\href {\doibase 10.5555/ab} {\bibfield {journal} {x}}", {"doi": "10.5555/ab"}),
        ("\n%%CITATION = HEP-TH 9711200;%%", {"arxiv": "hep-th/9711200"}),
        (r"\url{https://doi.org/10.5555/ab}", {"doi": "10.5555/ab"}),
    ],
)
def test_identifiers_that_commands_state(source: str, ids: dict[str, str]):
    assert one(f"\\bibitem{{a}} A. Bee, a text, 1990, {source}")["ids"] == ids


def test_identifiers_in_mere_text_are_weak():
    found = one("\\bibitem{a} A. Bee, Phys. Lett. B 234 (1990) 1 [hep-ph/9001001].")
    assert "ids" not in found
    assert found["ids_weak"] == {"arxiv": "hep-ph/9001001"}


REVTEX = r"""\bibitem [{\citenamefont {{Doe}}\ \emph {et~al.}(2016{\natexlab{a}})\citenamefont {{Doe}}}]{doe}%
  \BibitemOpen
  \bibfield  {author} {\bibinfo {author} {\bibfnamefont {J.}~\bibnamefont {{Doe}}}, \ and\ \bibinfo {author} {\bibfnamefont
  {K.~P.}\ \bibnamefont {van~der Berg}},\ }\bibfield  {title} {\enquote {\bibinfo {title} {{On tests}},}\ }\href
  {\doibase 10.5555/Ab} {\bibfield  {journal} {\bibinfo  {journal} {J. Tests}\ }\textbf {\bibinfo {volume} {363}},\
  \bibinfo {pages} {223--386} (\bibinfo {year} {2016}{\natexlab{a}})}\BibitemShut {NoStop}%
"""


def test_the_fields_of_revtex_are_tagged():
    assert one(REVTEX) == {
        "xml_id": "doe", "label": "Doe et al. (2016a)", "title": "On tests", "last_names": ["Doe", "van der Berg"],
        "given_names": ["J.", "K. P."], "venue": "J. Tests", "year": 2016, "volume": "363",
        "first_page": "223", "last_page": "386", "ids": {"doi": "10.5555/ab"},
    }  # fmt: skip


def test_the_fields_of_springers_style_are_tagged():
    found = one(
        r"\bibitem{a}\begin{barticle}\bauthor{\bsnm{Doe}, \binits{J.}}, \bauthor{\bsnm{Roe}, \binits{R.}}: \batitle{On tests}. "
        r"\bjtitle{J. Tests} \bvolume{3}(\bissue{2}), \bfpage{10}--\blpage{19} (\byear{2001}) \doiurl{10.5555/ab}\end{barticle}"
    )
    assert found["last_names"] == ["Doe", "Roe"]
    assert (found["title"], found["venue"], found["year"], found["volume"]) == ("On tests", "J. Tests", 2001, "3")
    assert (found["issue"], found["first_page"], found["last_page"], found["ids"]) == ("2", "10", "19", {"doi": "10.5555/ab"})


BIBLATEX = r"""% $ biblatex bbl format version 3.2 $
\refsection{0}
  \datalist[entry]{nty/global//global/global}
    \entry{doe}{article}{}
      \name{author}{2}{}{%
        {{hash=x}{%
           family={Doe}, familyi={D\bibinitperiod}, given={Jane\bibnamedelima A.}, giveni={J}}}%
        {{hash=y}{family={Berg}, prefix={van\bibnamedelima der}, given={K.}}}%
      }
      \list{publisher}{1}{%
        {Press}%
      }
      \field{journaltitle}{J.~Tests}
      \field{title}{On {\"u}ber tests}
      \field{volume}{3}
      \field{year}{2001}
      \field{pages}{10\bibrangedash 19}
      \verb{doi}
      \verb 10.5555/a_b
      \endverb
    \endentry
    \entry{old}{book}{}
      \name{author}{1}{}{%
        {{hash=z}{Roe}{R.}{Richard}{R.}{}{}{}{}}%
      }
      \field{title}{A Book}
      \field{year}{1999}
    \endentry
  \enddatalist
\endrefsection
"""


def test_biblatex():
    assert fields(BIBLATEX) == [
        {
            "xml_id": "doe", "kind": "article", "title": "On über tests", "last_names": ["Doe", "van der Berg"],
            "given_names": ["Jane A.", "K."], "venue": "J. Tests", "publisher": "Press", "year": 2001, "volume": "3",
            "first_page": "10", "last_page": "19", "ids": {"doi": "10.5555/a_b"},
        },
        {
            "xml_id": "old", "kind": "book", "title": "A Book", "last_names": ["Roe"], "given_names": ["Richard"], "year": 1999,
        },
    ]  # fmt: skip


def test_amsrefs():
    source = r"""\documentclass{amsart}\begin{document}\begin{biblist}
    \bib{doe}{article}{author={Doe, Jane}, author={van der Berg, K.}, title={On $p$-adic tests}, journal={J. Tests},
       volume={3}, date={2001}, number={2}, pages={10--19}, eprint={arXiv:1801.02489}}
    \bib*{x}{book}{ title={Whole} }
    \end{biblist}\end{document}"""
    first, second = fields(source)
    assert (first["last_names"], first["title"], first["year"]) == (["Doe", "van der Berg"], "On p-adic tests", 2001)
    assert (first["venue"], first["issue"], first["last_page"], first["ids"]) == (
        "J. Tests",
        "2",
        "19",
        {"arxiv": "1801.02489"},
    )
    assert (second["xml_id"], second["title"]) == ("x", "Whole")


BIB = r"""@string{jt = {J. Tests}}
@comment{@article{no, title={No}}}
@article{doe, author = "Doe, Jane and {The ABC Group}", title = {On {T}ests}, journal = jt, volume = 234, pages = {1--9},
  year = 1990, doi = {10.5555/ab}}
@inproceedings(par, title = {Talk}, crossref = {conf}, year = 2000)
@proceedings{conf, title = {Proc. of Tests}, publisher = {Press}}
@article{unused, title = {Unused}}
"""


def test_a_bibtex_file_of_the_archive_is_read_without_a_bbl_file_for_the_cited_keys():
    document = "\\documentclass{article}\\begin{document}\\cite{par,doe}\\bibliography{refs}\\end{document}"
    talk, doe = fields(targz({"main.tex": document, "refs.bib": BIB}))
    assert (doe["xml_id"], doe["venue"], doe["ids"], doe["collab"]) == (
        "doe",
        "J. Tests",
        {"doi": "10.5555/ab"},
        "The ABC Group",
    )
    assert (talk["xml_id"], talk["title"], talk["venue"], talk["publisher"]) == ("par", "Talk", "Proc. of Tests", "Press")
    everything = document.replace("\\cite{par,doe}", "\\nocite{*}")
    assert [each["xml_id"] for each in fields(targz({"main.tex": everything, "refs.bib": BIB}))] == [
        "doe",
        "par",
        "conf",
        "unused",
    ]


def test_fields_of_a_bibtex_file_are_those_of_an_item_that_agrees_with_them():
    items = "\\bibitem{doe} J. Doe, Phys. Lett. 234, 1 (1990).\\bibitem{par} Another text of 1950."
    document = DOCUMENT.replace("\\input{intro}", "")
    doe, par = fields(targz({"main.tex": document, "main.bbl": bibliography(items), "refs.bib": BIB}))
    assert doe["title"] == "On Tests"
    assert doe["ids"] == {"doi": "10.5555/ab"}
    assert "title" not in par


@pytest.mark.parametrize(
    "source",
    [
        "\\begin{references}\n\\item A. Bee, Phys. Lett. 12, 34 (1990).\n\\item C. Dee, Phys. Rev. "
        "1, 2 (1991).\n\\end{references}",
        "\\begin{references}\n\\reference{bee} A. Bee, Phys. Lett. 12, 34 (1990).\n\\reference C. "
        "Dee, Phys. Rev. 1, 2 (1991).\n\\end{references}",
        "\\section*{References}\n[1] A. Bee, Phys. Lett. 12, 34 (1990).\n\n[2] C. Dee, Phys. Rev. "
        "1, 2 (1991).\n\\end{document}",
        "{\\bf References}\n\n1. A. Bee, Phys. Lett. 12, 34 (1990).\n\n2. C. Dee, Phys. Rev. 1, 2 (1991).\n\\end{document}",
        "\\section*{References}\n\\noindent A. Bee, Phys. Lett. 12, 34 (1990).\n\n\\noindent C. "
        "Dee, Phys. Rev. 1, 2 (1991).\n\\bye",
        "\\centerline{\\bf REFERENCES}\n\\item{1.} A. Bee, Phys. Lett. 12, 34 (1990).\n\\item{2.} "
        "C. Dee, Phys. Rev. 1, 2 (1991).\n\\bye",
        "\\section*{References}\n\nA. Bee, Phys. Lett. 12, 34 (1990).\n\nC. Dee, Phys. Rev. 1, 2 (1991).\n\n\\end{document}",
        "\\lref\\bee{A. Bee, Phys. Lett. 12, 34 (1990).}\n\\lref\\dee{C. Dee, Phys. Rev. 1, 2 (1991).}\n\\listrefs\\bye",
        "\\begin{thebibliography}{}\\bibit{a} A. Bee, Phys. Lett. 12, 34 (1990).\\bibit{b} C. Dee, "
        "Phys. Rev. 1, 2 (1991).\\end{thebibliography}",
    ],
)
def test_bibliographies_by_hand(source: str):
    (paper,) = parsed("\\documentclass{article}\\begin{document}A text.\n" + source, name="latex")
    assert [each.raw_text for each in paper.paper.references] == [
        "A. Bee, Phys. Lett. 12, 34 (1990).",
        "C. Dee, Phys. Rev. 1, 2 (1991).",
    ]


def test_a_title_that_inspire_comments_out_is_read():
    items = (
        "\\bibitem{a}\nA. Bee,\n%``A hidden title of a work,''\nPhys. Lett. B {\\bf 234} (1990) "
        "1.\n%%CITATION = PHLTA,B234,1;%%\n"
    )
    assert texts(items) == ["A. Bee, “A hidden title of a work,” Phys. Lett. B 234 (1990) 1."]


def test_works_of_one_item_are_divided_each_with_its_identifiers():
    item = (
        r"\bibitem{a} A. Bee, \href{http://doi.org/10.5555/a}{Phys. Lett. B 12, 34 (1990)}; C. Dee, "
        r"\href{http://doi.org/10.5555/b}{Phys. Rev. D 1, 2 (1991)}."
    )
    first, second = fields(bibliography(item))
    assert (first["ids"], second["ids"]) == ({"doi": "10.5555/a"}, {"doi": "10.5555/b"})
    lines = "\\bibitem{a} A. Bee, Phys. Lett. B {\\bf 12} (1990) 34 \\\\\nC. Dee, Phys. Rev. D {\\bf 1} (1991) 2.\n"
    assert texts(lines) == ["A. Bee, Phys. Lett. B 12 (1990) 34", "C. Dee, Phys. Rev. D 1 (1991) 2."]


def test_the_works_of_a_merged_item_of_revtex_are_divided():
    second = REVTEX.partition("\\BibitemOpen")[2].replace("On tests", "On others").replace("10.5555/Ab", "10.5555/Cd")
    found = fields(bibliography(REVTEX.replace("\\BibitemShut {NoStop}%", ";\\ ") + second))
    assert [(each["title"], each["ids"]["doi"]) for each in found] == [("On tests", "10.5555/ab"), ("On others", "10.5555/cd")]


def test_ids_of_references_are_stable():
    assert [each.id for each in parsed(BBL, source="p")[0].paper.references] == ["p#doe.1", "p#roe.1", "p#poe.1"]


def test_acms_style():
    source = r"""\bibitem[Doe et~al\mbox{.}(2020)]%
        {doe}
\bibfield{author}{\bibinfo{person}{Jane Doe}, {and} \bibinfo{person}{K.~P. van der Berg}.} \bibinfo{year}{2020}\natexlab{}.
\newblock \showarticletitle{On tests}. In \bibinfo{booktitle}{\emph{Proc. of Tests}}, \bibfield{editor}{\bibinfo
{person}{R. Roe}} (Ed.). \bibinfo{pages}{1--9}.
\newblock
\urldef\tempurl%
\url{https://doi.org/10.5555/ab}
\showDOI{\tempurl}"""
    found = one(source)
    assert (found["xml_id"], found["title"], found["venue"], found["year"]) == ("doe", "On tests", "Proc. of Tests", 2020)
    assert (found["last_names"], found["editors"], found["first_page"]) == (["Doe", "van der Berg"], ["Roe"], "1")
    assert found["ids"] == {"doi": "10.5555/ab"}
    book = one(r"\bibitem{b}\bibinfo{person}{Jane Doe}. \bibinfo{year}{2020}. \bibinfo{booktitle}{\emph{A Book}}.")
    assert (book["title"], "venue" in book) == ("A Book", False)


def test_ieees_style():
    source = r"""\providecommand{\BIBentrySTDinterwordspacing}{\spaceskip=0pt\relax}
\providecommand{\BIBentryALTinterwordstretchfactor}{4}
\providecommand{\BIBentryALTinterwordspacing}{\spaceskip=\fontdimen2\font plus
\BIBentryALTinterwordstretchfactor\fontdimen3\font minus \fontdimen4\font\relax}
\bibitem{doe}
\BIBentryALTinterwordspacing
J.~Doe, \emph{A Book}, ser. Tests.\hskip 1em plus 0.5em minus 0.4em\relax Press, 2010. [Online]. Available:
  \url{http://a.b/c}
\BIBentrySTDinterwordspacing"""
    assert texts(source) == ["J. Doe, A Book, ser. Tests. Press, 2010. [Online]. Available: http://a.b/c"]


def test_fields_of_amsrefs_without_commas_between_them():
    entry = "\\bib{a}{article}{author={Doe, J.}\n journal={J. Tests}, title={On tests}\n year={2001}}"
    (found,) = fields(f"\\begin{{biblist}}{entry}\\end{{biblist}}")
    assert (found["last_names"], found["venue"], found["title"], found["year"]) == (["Doe"], "J. Tests", "On tests", 2001)


def test_amstex():
    source = r"""\input amstex
\document A text.
\Refs
\ref \key AM\by P. S. Aspinwall, D. R. Morrison \paper
 Topological field theory and rational curves \jour Commun. Math. Phys. \pages
245--262\yr 1993 \vol 151\endref
\ref\key 2 \by J. Doe\book A book of tests \publ Press \yr 1990\endref
\endRefs
\enddocument"""
    first, second = fields(source)
    assert (first["xml_id"], first["last_names"], first["venue"]) == ("AM", ["Aspinwall", "Morrison"], "Commun. Math. Phys.")
    assert (first["title"], first["volume"]) == ("Topological field theory and rational curves", "151")
    assert (first["year"], first["first_page"], first["last_page"]) == (1993, "245", "262")
    assert (second["xml_id"], second["title"], second["publisher"], second["year"]) == ("2", "A book of tests", "Press", 1990)
