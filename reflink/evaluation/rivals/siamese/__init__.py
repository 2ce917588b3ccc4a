"""The Siamese network of the first paper (papers/001 sections 3.4, 5.1 and 5.2.3): a rival of the verdict.

``texts`` makes the two texts of a pair, ``candidates`` the works that share an author with a citation, ``network`` a vector of
each text, ``pairs`` and ``training`` the weights, ``rival`` the best candidate of each citation. It requires the extra
``semantic``, for torch.
"""
