"""The five steps of the page, one file each."""

import tomllib
from importlib.resources import files
from typing import Any

#: What the page calls the fields of a plan.
WORDS: dict[str, Any] = tomllib.loads((files(__name__) / "words.toml").read_text("utf-8"))
