"""One step of a scheduled pipeline: files in, files out, one line of JSON, an exit code.

    python scheduled_step.py IN OUT --plan plan.toml

Exit codes are those of `shoal`: 0 done, 1 the check failed, 2 the request is wrong, 3 the machine failed; a
scheduler may try again after 3 only. Without arguments it makes a table and a plan for itself, to be tried.
"""

import argparse
import json
import logging
import sys
from pathlib import Path

import shoal
from shoal.datasets import survey
from shoal.pipeline import run


def step(source, target, plan):
    """Protect a file by a plan, and check what was written; the exit code and what to tell."""
    try:
        release = run(shoal.Plan.read(plan), source)
        release.write(target)
        return 0, {"output": str(target), **release.outcome.public()}
    except shoal.ShoalError as error:
        return error.exit_code, {"error": str(error)}


def main(words):
    options = argparse.ArgumentParser()
    options.add_argument("source", nargs="?", default="firms.csv")
    options.add_argument("target", nargs="?", default="firms.safe.csv")
    options.add_argument("--plan", default="plan.toml")
    asked = options.parse_args(words)
    logging.basicConfig(level=logging.INFO)  # what shoal does goes to stderr, under the name "shoal"
    if not words:
        shoal.write(survey(200), asked.source)
        Path(asked.plan).write_text(shoal.Plan(5, columns=["turnover", "wages"], method="mdav").toml())
    code, told = step(asked.source, asked.target, asked.plan)
    print(json.dumps(told))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
