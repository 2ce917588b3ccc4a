"""Sentence encoders: models, their tokens and forward passes; ``encoder`` has the public class."""
