"""From the entries of a bibliography, in whatever format they came, to references with ids."""
