"""What holds for the whole run of the tests."""

from tests.app_server import chromium


def pytest_terminal_summary(terminalreporter):
    """The last word: what was not tested, so that nobody takes silence for success."""
    if chromium() is None:
        terminalreporter.write_line(
            "NOT TESTED: the web page in a real browser. Chromium is missing (apt-get install chromium).",
            red=True,
            bold=True,
        )
