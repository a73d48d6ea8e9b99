"""Archives that a call brings: whatever their bytes are, they are unpacked or refused."""

import base64
import io
import zipfile

import pytest

from assay.errors import InvalidRequest
from assay.service.compat.archives import unpacked

NAME = "a.txt"
PACKINGS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def _packed(packing: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression=packing) as archive:
        archive.writestr(NAME, b"hello " * 30)
    return file.getvalue()


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_usual_packing_is_read(packing: int) -> None:
    """Files come back in base64."""
    found = unpacked(base64.b64encode(_packed(packing)).decode(), 1000, "additional_files")

    assert {name: base64.b64decode(text) for name, text in found.items()} == {NAME: b"hello " * 30}


@pytest.mark.parametrize("packing", PACKINGS)
def test_what_cannot_be_unpacked_is_refused(packing: int) -> None:
    """Each byte of an archive in turn is another one: that is the caller's fault, and never this side's."""
    whole = _packed(packing)
    refused = 0
    for at in range(len(whole)):
        spoilt = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        try:
            unpacked(base64.b64encode(spoilt).decode(), 10**10, "additional_files")
        except InvalidRequest:
            refused += 1

    assert refused > 0


def test_a_file_without_a_name_is_refused() -> None:
    """Its directory says that the name has no characters."""
    whole = bytearray(_packed(zipfile.ZIP_STORED))
    entry = whole.rfind(b"PK\x01\x02")
    del whole[entry + 46 : entry + 46 + len(NAME)]
    whole[entry + 28] = 0
    end = whole.rfind(b"PK\x05\x06")
    whole[end + 12] -= len(NAME)

    with pytest.raises(InvalidRequest, match="no zip archive"):
        unpacked(base64.b64encode(bytes(whole)).decode(), 1000, "additional_files")
