"""Objects in stores (s3://, gs://, abfs://): brought here to be read, sent there when all is checked.

Only the store of an address that the user gave is asked, never a service that hands out credentials unasked.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from shoal.errors import InputError, MachineError, ShoalError, never_overwritten
from shoal.io.atomic import first_sentence
from shoal.io.contents import sha256
from shoal.io.databases.address import is_remote, shown
from shoal.io.json_text import json_text
from shoal.io.parquet import MANIFEST
from shoal.io.private import private_folder

if TYPE_CHECKING:
    import pyarrow.fs as fs

_PIECE = 1 << 22  # bytes that are copied at a time
#: For each kind of store: variables and files of which one must say who asks, what the remedy is, and how an
#: address says it.
_WHO = {
    "s3": (
        ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
        ("~/.aws/credentials", "~/.aws/config"),
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        "(:|.*_key=)",
    ),
    "gs": (
        ("GOOGLE_APPLICATION_CREDENTIALS",),
        ("~/.config/gcloud/application_default_credentials.json",),
        "GOOGLE_APPLICATION_CREDENTIALS, or write gs://anonymous@bucket",
        "anonymous@",
    ),
    "abfs": (
        ("AZURE_STORAGE_KEY", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"),
        (),
        "AZURE_STORAGE_KEY, or AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
        "(:[^/]+@|.*sig=|.*credential_kind=)",
    ),
}
_APPLICATION = ("tenant_id", "client_id", "client_secret")


class Store:
    """The store that an address names, and the path in it."""

    def __init__(self, address: str):
        import pyarrow.fs as fs

        self.address, self.name = address, shown(address)
        self._refuse_nobody()
        os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")  # nobody named that address
        with self._speaking():
            self.files, path = fs.FileSystem.from_uri(address)
            if isinstance(self.files, getattr(fs, "AzureFileSystem", ())):
                self.files = self._azure(self.files)
        self.path = path.rstrip("/")
        if "/" not in self.path:
            raise InputError(f"{self.name!r} names no object in its bucket: write more of the address")

    def _refuse_nobody(self) -> None:
        scheme, _, rest = self.address.partition("://")
        names, files, remedy, sign = _WHO[{"gcs": "gs", "abfss": "abfs"}.get(scheme, scheme)]
        told = any(map(os.environ.get, names)) or any(Path(f).expanduser().exists() for f in files)
        if not told and not re.search(f"^[^/?]*{sign}", rest):
            raise InputError(f"no credentials were found for {self.name!r}: set {remedy}")

    def _azure(self, files: Any) -> Any:
        """The same store for who has the key, or is the application, that is named.

        Arrow passes over a key in an address, and asks one service after another who this machine is.
        """
        (named,) = files.__reduce__()[1]
        key = unquote(urlsplit(self.address).password or "") or os.environ.get("AZURE_STORAGE_KEY")
        given = {name: os.environ.get(f"AZURE_{name.upper()}") for name in _APPLICATION if name in named}
        if not (key or "anonymous" in self.address) and named["blob_storage_scheme"] == "http":
            raise InputError(
                f"{self.name!r} is not encrypted, so only a key may be sent there: write account:key@"
            )
        if named.get("sas_token") or not (key or all(given.values())):
            return files
        return type(files)(**named | ({"account_key": key} if key else given))

    @contextlib.contextmanager
    def _speaking(self, kind: type[ShoalError] = InputError) -> Iterator[None]:
        """What the store answers, in one sentence about the address."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            said = first_sentence(error)
            if "AWS Error" in said:  # without how it was asked
                said = said.rpartition("AWS Error ")[2].partition(" during ")[0].lower().replace("_", " ")
            raise kind(f"{self.name!r} cannot be reached: {said}") from None

    def _info(self, path: str) -> fs.FileInfo:
        with self._speaking():
            return self.files.get_file_info(path)

    def _below(self) -> list[fs.FileInfo]:
        """All objects whose names begin with the path, as with a folder."""
        import pyarrow.fs as fs

        below = fs.FileSelector(self.path, recursive=True, allow_not_found=True)
        with self._speaking():
            return [info for info in self.files.get_file_info(below) if info.is_file]

    @property
    def is_file(self) -> bool:
        return bool(self._info(self.path).is_file)

    def size(self) -> int:
        """The bytes of the object, or of all objects below the path."""
        return sum(info.size for info in self._found())

    def _found(self) -> list[fs.FileInfo]:
        info = self._info(self.path)
        return [info] if info.is_file else self._below()

    def bring(self, folder: Path) -> Path:
        """Copy the object, or the Parquet files below the path, into this folder; gives the copy."""
        made = folder / _safe(self.name, PurePosixPath(self.path).name)
        found = [i for i in self._found() if i.path == self.path or i.path.endswith(".parquet")]
        if not found:
            raise InputError(
                f"there is no object, and no .parquet file below {self.name!r}: look at the address"
            )
        depth = len(self.path.split("/"))
        for info in found:
            place = made.joinpath(*(_safe(self.name, part) for part in info.path.split("/")[depth:]))
            place.parent.mkdir(parents=True, exist_ok=True)
            self._copy(info, place)
        return made

    def _copy(self, info: fs.FileInfo, place: Path) -> None:
        size = 0
        try:
            with place.open("xb") as file:
                for piece in self._pieces(info.path):
                    file.write(piece)
                    size += len(piece)
        except OSError as error:
            raise MachineError(f"{self.name!r} cannot be copied here: {first_sentence(error)}") from None
        if size != info.size:
            raise InputError(f"{self.name!r} ended after {size} of {info.size} bytes: try again")

    def _pieces(self, path: str) -> Iterator[bytes]:
        with self._speaking(), self.files.open_input_stream(path, compression=None) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def refuse_target(self, single: bool, replace: bool, source: Any = None) -> None:
        """Say before the work what would fail after it; an empty object shows whether this user may write."""
        if is_remote(source):
            other = Store(source).path
            if other == self.path or self.path.startswith(other + "/"):
                raise never_overwritten(repr(self.name))
        old = [] if single else self._below()
        if old and not replace:
            raise InputError(f"{self.name!r} is not empty: name another, or let it be replaced (--replace)")
        if old and not any(info.path == f"{self.path}/{MANIFEST}" for info in old):
            raise InputError(f"{self.name!r} has no {MANIFEST}, so it is no release: name another folder")
        with self._removing([probe := self._hidden()]):
            self._put(b"", probe)
        self._remove([probe])

    def _hidden(self) -> str:
        parent, _, name = self.path.rpartition("/")
        return f"{parent}/.{name}.{secrets.token_hex(4)}.part"

    def send(self, made: Path) -> None:
        """Send a file, or a folder with its manifest: all of it is published, or nothing."""
        if made.is_dir():
            self._send_folder(made)
            return
        hidden = self._hidden()
        with self._removing([hidden]):
            self._put(made, hidden)
            self._require(hidden, sha256(made))
            with self._speaking(MachineError):  # to move is not for every store
                self.files.copy_file(hidden, self.path)
        self._remove([hidden])

    def _send_folder(self, made: Path) -> None:
        """Parts first, under names of their own, the manifest last; then the parts of an older release go."""
        old = {info.path for info in self._below()}
        manifest = json.loads((made / MANIFEST).read_text())
        sent: list[str] = []
        with self._removing(sent, but=old):
            for part in manifest["parts"]:
                local, stem = made / part["name"], part["name"].removesuffix(".parquet")
                part["name"] = f"{stem}-{part['sha256'][:8]}.parquet"
                sent.append(f"{self.path}/{part['name']}")
                self._put(local, sent[-1])
                self._require(sent[-1], part["sha256"])
            last = f"{self.path}/{MANIFEST}"
            self._put((json_text(manifest, indent=1) + "\n").encode(), last)
        self._remove(old.difference([*sent, last]))

    def _put(self, content: Path | bytes, path: str) -> None:
        with (
            self._speaking(MachineError),
            io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source,
            self.files.open_output_stream(path, compression=None) as stream,
        ):
            shutil.copyfileobj(source, stream, _PIECE)

    def _require(self, path: str, sha256: str) -> None:
        """What was sent is read again."""
        digest = hashlib.sha256()
        for piece in self._pieces(path):
            digest.update(piece)
        if digest.hexdigest() != sha256:
            raise MachineError(f"{self.name!r} has not what was sent: nothing is published")

    @contextlib.contextmanager
    def _removing(self, paths: list[str], but: Iterable[str] = ()) -> Iterator[None]:
        """Remove these again if anything fails; what cannot be removed is named."""
        try:
            yield
        except BaseException as error:
            left = self._remove_quietly(path for path in paths if path not in set(but))
            if left and isinstance(error, ShoalError):
                raise type(error)(f"{error}; left there, so delete it: {', '.join(left)}") from None
            raise

    def _remove_quietly(self, paths: Iterable[str]) -> list[str]:
        left = []
        for path in paths:
            try:
                if self.files.get_file_info(path).is_file:
                    self.files.delete_file(path)
            except (pa.ArrowException, OSError):
                left.append(path)
        return left

    def _remove(self, paths: Iterable[str]) -> None:
        left = self._remove_quietly(sorted(paths))
        if left:
            raise MachineError(f"in {self.name!r} these could not be deleted: {', '.join(left)}")


def _safe(address: str, name: str) -> str:
    """A name of an object that can be a file's here."""
    if name in ("", ".", "..") or "\0" in name or "\\" in name or len(name.encode()) > 255:
        raise InputError(
            f"an object of {address!r} has a name that no file can have here: {name!r}; rename it"
        )
    return name


@contextlib.contextmanager
def speaking_of(near: Path, address: str) -> Iterator[None]:
    """Sentences about the copy here name the address that the user knows."""
    try:
        yield
    except ShoalError as error:
        raise type(error)(str(error).replace(str(near), shown(address))) from None


@contextlib.contextmanager
def brought(source: Any, base: str | None = None) -> Iterator[Any]:
    """A copy of the object here, for as long as it is needed; anything else as it is."""
    if not is_remote(source):
        yield source
        return
    with private_folder("shoal-store", base) as folder:
        near = Store(source).bring(folder)
        with speaking_of(near, source):
            yield str(near)


@contextlib.contextmanager
def sending(target: str, replace: bool = False, source: Any = None) -> Iterator[Path]:
    """A place here to write to; what is there at a good end is sent to the address."""
    store = Store(target)
    name = _safe(store.name, PurePosixPath(store.path).name)
    store.refuse_target(bool(PurePosixPath(name).suffix), replace, source)
    with private_folder("shoal-store") as folder:
        near = folder / name
        with speaking_of(near, target):
            yield near
        store.send(near)


_kept = contextlib.ExitStack()  # copies that tables in memory go back to, until the process ends
atexit.register(_kept.close)


def kept(address: str) -> Path:
    """A copy here for as long as the process lives."""
    return Path(_kept.enter_context(brought(address)))
