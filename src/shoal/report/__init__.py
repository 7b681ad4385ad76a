"""The report: one model of a release, rendered as HTML, JSON or text; internal and public editions."""

from shoal.report.model import build
from shoal.report.render import render, report_format, write

__all__ = ["build", "render", "report_format", "write"]
