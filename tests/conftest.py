"""What holds for the whole run of the tests."""

from hypothesis import settings

from tests.missing import missing

settings.register_profile("shoal", deadline=None)  # no test depends on the clock
settings.load_profile("shoal")


def pytest_terminal_summary(terminalreporter):
    """The last word: what was not tested, so that nobody takes silence for success."""
    for sentence in missing():
        terminalreporter.write_line(sentence, red=True, bold=True)
