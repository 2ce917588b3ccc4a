"""Sources in LaTeX for tests: archives, and bibliographies in the styles of BibTeX."""

from __future__ import annotations

import gzip
import io
import tarfile

DOCUMENT = r"""\documentclass{article}
\title{On \emph{tests}\thanks{Work of us all.}}
\author{Jane Doe$^1$ \and K. P. van der Berg\\ University of Testing}
\date{May 5, 2019}
\begin{document}
\begin{abstract}We test.\end{abstract}
\input{intro}
\bibliography{refs}
\end{document}
ignored \bibitem{no} after the end
"""
INTRO = r"""\section{Introduction}
Some tested~\cite{doe,roe} before \cite[see][p.~3]{poe}. % \cite{comment}
Others did not.\footnote{A note of \citet{roe}.}

\subsection{More}
With $E=mc^2$ it is \textbf{clear}.
\begin{figure}\includegraphics{x}\caption{A picture \cite{doe}.}\end{figure}
"""
BBL = r"""\begin{thebibliography}{3}
\bibitem{doe} J.~Doe, Phys. Lett. {\bf B234}, 1 (1990).
\bibitem{roe} R.~Roe, Nucl. Phys. {\bf B12}, 34--56 (1975), hep-th/9901001.
\bibitem{poe} P.~Po\"e, \href{https://doi.org/10.5555/ab_c}{{\em J. Tests} {\bf 3} (2001) 7}.
\end{thebibliography}
"""


def tar(files: dict[str, str | bytes], *, links: dict[str, str] | None = None) -> bytes:
    """Return a tar archive of these files, and of symbolic links."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return buffer.getvalue()


def targz(files: dict[str, str | bytes]) -> bytes:
    """Return a compressed tar archive of these files."""
    return gzip.compress(tar(files))


def bibliography(items: str) -> str:
    """Return a .bbl file with these items."""
    return f"\\begin{{thebibliography}}{{9}}\n{items}\n\\end{{thebibliography}}\n"
