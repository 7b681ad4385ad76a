"""Workbooks for tests, and their cells as Excel's own XML has them."""

import datetime as dt
import re
import zipfile

import xlsxwriter


def workbook(path, *rows, merged=(), hidden=(), **sheets):
    """A workbook whose first sheet has these rows, and further sheets by name; `merged` are (range, text)."""
    book = xlsxwriter.Workbook(str(path))
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    for title, cells in {"Sheet1": rows, **sheets}.items():
        if title == "Sheet1" and rows and isinstance(rows[0], str):
            title, cells = rows[0], rows[1:]
        sheet = book.add_worksheet(title)
        for place, text in merged:
            sheet.merge_range(place, text)
        if title in hidden:
            sheet.hide()
        for i, row in enumerate(cells):
            for j, cell in enumerate(row):
                if isinstance(cell, str):
                    sheet.write_string(i, j, cell)
                elif isinstance(cell, dt.date):
                    sheet.write_datetime(i, j, cell, day)
                elif cell is not None:
                    sheet.write(i, j, cell)
    book.close()
    return path


def kinds(path):
    """The kinds of cells in the first sheet, as its XML tells them: s, b, or n."""
    with zipfile.ZipFile(path) as package:
        xml = package.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in xml  # no formula
    return [(re.search(r't="(\w+)"', cell) or [None, "n"])[1] for cell in re.findall(r"<c ([^>]*[^/])>", xml)]
