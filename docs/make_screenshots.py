"""Renew the pictures of the page in docs/img: `make screenshots`. Needs Chromium."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright
from tests.app_server import Server, chromium

IMG = Path(__file__).parent / "img"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def main() -> None:
    if chromium() is None:
        sys.exit("Chromium is missing: apt-get install chromium")
    expect.set_options(timeout=600_000)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        server = Server(folder)
        try:
            browser = driver.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.goto(server.address)
            walk(page)
            browser.close()
        finally:
            server.stop()


def walk(page: Page) -> None:
    """The demo survey through the five steps, a picture of each."""
    page.get_by_role("button", name="Start with the demo survey").click()
    expect(page.locator("table.columns")).to_be_visible()
    take(page, "data")
    page.locator("[data-step=settings]").click()
    expect(page.locator(".knumber")).to_be_visible()
    page.get_by_label("Linked correctly, at most %").fill("20")
    page.get_by_role("button", name="Suggest k").click()
    expect(page.locator(".advice table")).to_be_visible()
    take(page, "settings", 1500)
    page.locator("[data-step=run]").click()
    page.get_by_label("Also with k =").fill("3, 10, 20")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".run.done")).to_have_count(2)
    expect(page.locator(".run.grouping")).to_have_count(1)
    take(page, "run")
    expect(page.locator(".run.done")).to_have_count(4)
    page.get_by_role("button", name="Look at Run 1").click()
    expect(page.locator(".changes")).to_be_visible()
    take(page, "look", 1500)
    page.get_by_label("Side by side with").click()
    page.get_by_role("option", name="Run 3").click()
    expect(page.locator(".panel")).to_have_count(2)
    page.locator(".by-side").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('.by-side').scrollIntoView()")
    take(page, "side-by-side")
    page.locator("[data-step=take]").click()
    expect(page.locator("pre").first).to_be_visible()
    take(page, "take-away")


def take(page: Page, name: str, height: int = 860) -> None:
    page.set_viewport_size({"width": 1280, "height": height})
    page.mouse.move(640, 5)
    page.wait_for_timeout(1500)  # charts come to rest
    page.screenshot(path=IMG / f"page-{name}.png")
    page.set_viewport_size({"width": 1280, "height": 860})


if __name__ == "__main__":
    main()
