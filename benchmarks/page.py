"""Does the page stay alive while a million records are grouped? `python -m benchmarks.page [--rows 1000000]`.

Uploads a survey in a real browser, starts `auto`, and goes back and forth between two steps for a minute as
it computes. Tells how long the upload took to be shown, and how long the page took to answer each click.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import expect, sync_playwright
from tests.app.test_browser import FLAGS, firms, start, step, upload, use
from tests.app_server import Server, chromium

from benchmarks._common import header, save, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="of clicking")
    given = parser.parse_args()
    print(header(), flush=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        server = Server(Path(place))
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(600_000)
        expect.set_options(timeout=600_000)
        page.goto(server.address)
        path = firms(Path(place), given.rows)
        size = round(path.stat().st_size / 1e6)
        began = time.perf_counter()
        upload(page, path)
        expect(page.get_by_text(f"{given.rows:,} records")).to_be_visible()
        shown = time.perf_counter() - began
        use(page, 5, "auto")
        start(page)
        expect(page.get_by_role("button", name="Cancel")).to_be_visible()
        answers = []
        began = time.perf_counter()
        while time.perf_counter() - began < given.seconds:
            for name in ("settings", "run"):
                before = time.perf_counter()
                step(page, name)
                answers.append(time.perf_counter() - before)
        running = page.get_by_role("button", name="Cancel").is_visible()
        browser.close()
        server.stop()
    row = {
        "records": given.rows,
        "MB": size,
        "upload shown s": round(shown, 1),
        "clicks": len(answers),
        "median s": round(sorted(answers)[len(answers) // 2], 2),
        "longest s": round(max(answers), 2),
        "still computing": running,
    }
    print(table([row]))
    print("written to", save("page", [row]))


if __name__ == "__main__":
    main()
