"""Where a release of Spark Connect is published: from here, only files that both sides see can be renamed."""

import secrets
import shutil
from pathlib import Path
from typing import Any

from shoal.errors import InputError, MachineError
from shoal.io import parquet


class SharedFolder:
    """A folder that this machine and the server of Spark Connect both see, and a hidden one beside it."""

    def __init__(self, spark: Any, path: str, replace: bool):
        if "://" in path:
            raise InputError(
                f"over Spark Connect a release is published in a folder that this machine sees too, not at "
                f"{path!r}: name one, or use a classic session"
            )
        self.target = Path(path).absolute()
        parquet.refuse_missing_folder(self.target.parent)
        parquet.refuse_target(Path("-"), self.target, replace)
        self._hidden = self.target.with_name(f".{self.target.name}.{secrets.token_hex(4)}.spark")
        self.made = str(self._hidden / "release")
        try:
            spark.range(1).write.parquet(str(self._hidden / "probe"))
            if not list((self._hidden / "probe").glob("*.parquet")):
                raise MachineError(
                    f"what the Spark server writes to {str(self.target.parent)!r} is not seen here: name a "
                    "folder that both share"
                )
        except BaseException:
            self.clean()
            raise

    def publish(self, manifest: str) -> None:
        """Put the manifest beside the parts and give the folder its name, in one step."""
        (Path(self.made) / parquet.MANIFEST).write_text(manifest)
        parquet.publish(Path(self.made), self.target)

    def write_private(self, facts: dict[str, Any]) -> str:
        return parquet.write_private(parquet.private_path(self.target), facts)

    def clean(self) -> None:
        shutil.rmtree(self._hidden, ignore_errors=True)
