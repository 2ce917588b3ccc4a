"""KDD Cup 2003, the task of data cleaning: the citation graph of hep-ph, found from the LaTeX sources of its papers."""
