"""Read the trained files of the package and check their hashes; a changed or damaged file is not used.

After training a file anew, enter its sha256 here (tests/reflink/test_shipped.py names it).
"""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import Final

from reflink.errors import ModelNotFound

#: File, beneath the package ``reflink`` -> sha256 in hexadecimal digits.
SHA256: Final[dict[str, str]] = {
    "recognition/weights.npz": "7c755b73f2d230ee5597ce00330aa505a9b8530b504b90b026c456d9e0c2590a",
    "verdict/model.json": "399bed50d60c7b105d01146ec42ee0cc00ee93ec36a41e75d9efb3b62664271c",
}


def read(name: str) -> bytes:
    """Return the file's content. Raises ModelNotFound if the file is absent or its hash differs."""
    path = resources.files("reflink").joinpath(name)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelNotFound(f"{path}: cannot be read ({error.strerror}): install reflink again") from None
    if (found := hashlib.sha256(data).hexdigest()) != SHA256[name]:
        raise ModelNotFound(
            f"{path}: not the file that comes with this version (sha256 {found[:12]}… instead of {SHA256[name][:12]}…): "
            "install reflink again"
        )
    return data
