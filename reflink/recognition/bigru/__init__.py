"""The BiGRU-CRF tagger: embeddings of words and their letters, a bidirectional GRU, and a linear-chain random field.

Modules: `encoding` (rows of the embedding table for each token), `network` (parameters, file, inference), `kernel` (compiled
GRU), `training` (torch).
"""
