"""The Siamese network of papers/001 beside the verdict and the trigrams, on the same candidates."""
