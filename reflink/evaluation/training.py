"""Trains the verdict: ``python -m reflink.evaluation.training --works W --references R --out reflink/verdict/model.json``.

Pairs are what the linker's two stages propose for each query of the protocol (reflink.evaluation.records), right and wrong ones. The
wrong ones are also what the stages propose when the target is missing, so both worlds are in them. Identifiers of the
reference are never used. Beside the model goes ``folds.json``: five models, each trained without the citing papers it
lists, so that no figure of an evaluation is measured on papers that the judging model has seen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reflink.catalog import Catalog
from reflink.evaluation.records import Query, without_identifiers
from reflink.evaluation.worlds import Groups
from reflink.linker import Encodes, Policy, propose
from reflink.verdict import Model, compare, describe_reference, describe_work
from reflink.verdict.evidence import FEATURES, features

FOLDS: Final = 5
#: L2 penalty: 1 / (2 * C) in scikit-learn's terms.
_C: Final = 1.0
_BATCH: Final = 512
