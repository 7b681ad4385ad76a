"""What a package says of its licence, and whether that is permissive."""

from __future__ import annotations

import re
from importlib import metadata

#: Licences that ask for a notice at most, by their names in the list of SPDX.
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
}
PERMISSIVE |= {"PSF-2.0", "Zlib"}
#: What classifiers call them. "BSD License" leaves open how many clauses; each kind is permissive.
CLASSIFIERS = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
#: Packages that come under another licence all the same, each with its reason. None may be in the core.
MOZILLA = "its copyleft ends at its own files, which shoal neither changes nor ships"
EXCEPTIONS = {
    "bidict": MOZILLA,
    "certifi": MOZILLA,
    "docutils": "public domain in the main; the GPL is that of tools which shoal does not call",
    "hypothesis": MOZILLA,
    "orjson": MOZILLA,
    "pathspec": MOZILLA,
}


def licence(name: str) -> str:
    """What an installed package says of its licence: an expression, else classifiers, else free text."""
    facts = metadata.metadata(name)
    if facts.get("License-Expression"):
        return str(facts["License-Expression"])
    classes = [
        text.split("::")[-1].strip() for text in facts.get_all("Classifier", []) if "License ::" in text
    ]
    return "; ".join(text for text in classes if text != "OSI Approved") or str(
        facts.get("License", "unknown")
    )


def permissive(text: str) -> bool:
    """Whether a licence asks for a notice at most: of `A OR B` one must, of `A AND B` and of `A; B` both."""
    return all(_permissive(CLASSIFIERS.get(part, part)) for part in text.split("; "))


def _permissive(expression: str) -> bool:
    words = re.findall(r"[()]|[^\s()]+", expression)

    def either() -> bool:
        answers = [both()]
        while words[:1] == ["OR"]:
            del words[0]
            answers.append(both())
        return any(answers)

    def both() -> bool:
        answers = [one()]
        while words[:1] == ["AND"]:
            del words[0]
            answers.append(one())
        return all(answers)

    def one() -> bool:
        word = words.pop(0) if words else ""
        if word == "(":
            answer = either()
            return words[:1] == [")"] and words.pop(0) == ")" and answer
        if words[:1] == ["WITH"]:  # an exception allows more, never less
            del words[:2]
        return word in PERMISSIVE

    return either() and not words
