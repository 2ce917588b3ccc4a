"""KDD Cup 2003 on LaTeX that is rendered from references with known targets."""
