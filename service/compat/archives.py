"""Files that a call brings in a zip archive, unpacked in memory within bounds."""

import base64
import binascii
import io
import lzma
import zipfile
import zlib

from assay.errors import InvalidRequest, TooLarge

_UNREADABLE = (
    binascii.Error, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError,
    RuntimeError,  # encrypted, or packed in a rare way
    OSError,  # of bzip2
    IndexError,  # a file without a name
)  # fmt: skip
_ALLOWANCE = 2
"""An archive is no larger than this many times what may be in it: its list of files is read before their sizes are."""


def unpacked(text: str, most_bytes: int, path: str) -> dict[str, str]:
    """Return the files of an archive in base64, by name, each in base64 again; folders are left out.

    `path` names the field. Raises InvalidRequest for what is no such archive, TooLarge for more than `most_bytes`.
    """
    fix = f"send at most {most_bytes} bytes of files"
    if len(text) * 3 // 4 > _ALLOWANCE * most_bytes:
        raise TooLarge(f"{len(text) * 3 // 4} bytes of an archive", path=path, fix=fix)
    try:
        with zipfile.ZipFile(io.BytesIO(base64.b64decode(text))) as archive:
            listed = [one for one in archive.infolist() if not one.is_dir()]
            if (total := sum(one.file_size for one in listed)) > most_bytes:
                raise TooLarge(f"{total} bytes in an archive", path=path, fix=fix)
            return {one.filename: base64.b64encode(archive.read(one)).decode() for one in listed}
    except _UNREADABLE as error:
        what = f"no zip archive in base64 that can be read: {error}"
        raise InvalidRequest(what, path=path, fix="pack the files with zip, and encode that in base64") from error
