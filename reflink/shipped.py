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
    "recognition/bigru.npz": "3e8e12e75fc2147754b63b466dbee994c3f00748acf8313c0167a02618ae1c8e",
    "recognition/crf.npz": "382d1bbc92a5aa5e3a4c2c1601e64ceee64ca3c51631ac5ce76dd4428ba42c39",
    "verdict/model.json": "57a9e997f391b63332d84097803c4aebe0652e76d96d5525e0456e8320f36c02",
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
