"""The page in a real browser, from a file dropped to a release taken away."""

import asyncio
import json
import re
import shlex
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

pytest.importorskip("nicegui")
playwright = pytest.importorskip("playwright.sync_api")

import shoal  # noqa: E402
from shoal.datasets import survey  # noqa: E402
from tests.app_server import PATIENCE, Server, chromium  # noqa: E402
from tests.ports import free_port  # noqa: E402
from tests.workbooks import workbook  # noqa: E402

if chromium() is None:
    pytest.skip("Chromium is not installed (apt-get install chromium)", allow_module_level=True)

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
#: A view that has no end, and no row.
ENDLESS = (
    "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT x FROM c WHERE x < 0"
)
EVIL = "<img src=x onerror='window.hacked=1'>{{hacked=1}}"
expect = playwright.expect
expect.set_options(timeout=1000 * PATIENCE)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium(), args=[*FLAGS, "--disable-sync", "--no-first-run"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """Where sessions are saved."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def server(tmp_path_factory, state):
    server = Server(tmp_path_factory.mktemp("app"), "--upload-limit", "3", XDG_STATE_HOME=str(state))
    yield server
    out, err = server.stop()
    assert (server.process.returncode, out, err) == (0, "", "")


def new_context(browser):
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, accept_downloads=True, reduced_motion="reduce"
    )
    context.set_default_timeout(1000 * PATIENCE)
    return context


@pytest.fixture(scope="module")
def shared(browser):
    """One session for all tests that open tables of their own: its reader is started once."""
    context = new_context(browser)
    yield context
    context.close()


@pytest.fixture
def visit(shared, browser):
    """Open pages, in the shared session or in another, and watch what they ask for."""
    asked, hosts, wrong, opened = set(), set(), [], []

    def open_page(server, alone=False):
        context = new_context(browser) if alone else shared
        page = context.new_page()
        opened.append(context if alone else page)
        hosts.add(f"127.0.0.1:{server.port}")
        page.on("request", lambda request: asked.add(request.url.split("/")[2]))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(server.address)  # which becomes another address at once
        expect(page.locator("nav [data-step=data]")).to_be_visible()
        page.wait_for_function("window.did_handshake")  # only now does the server know of this tab
        return page

    yield open_page
    for page in opened:
        page.close()
    assert asked <= hosts, f"the page asked other hosts: {asked - hosts}"
    assert not wrong


def firms(folder, n=150, name="firms.csv"):
    path = folder / name
    shoal.write(survey(n).drop_columns(["region", "sector"]), path)
    return path


def upload(page, path):
    page.locator("input[type=file]").set_input_files(path)


def opened(page, path, name=None):
    """Upload a table and wait until it is shown; the one that was shown may have the same name."""
    page.evaluate("document.querySelector('h2')?.setAttribute('data-old', '')")
    upload(page, path)
    expect(page.locator("h2:not([data-old])")).to_have_text(name or path.name)


def step(page, name):
    page.locator(f"[data-step={name}]").click()
    expect(page.locator(f"[data-step={name}]")).to_have_attribute("aria-current", "step")


def use(page, k, method="mdav"):
    """Settings: this k and this method, without a proof."""
    step(page, "settings")
    page.get_by_role("spinbutton", name="k", exact=True).fill(str(k))
    page.locator("summary").click()
    page.locator(f"[data-key={method}]").click()
    expect(page.locator(".facts")).to_be_visible()
    page.get_by_text("More: strata").click()
    prove = page.get_by_role("checkbox", name=re.compile("Prove"))
    expect(prove).to_be_visible()
    if prove.is_checked():
        prove.click()


def endless(page):
    """Settings: `optimise` searches until its time is over; with an hour, no click comes too late."""
    page.get_by_label("Time limit, seconds").fill("3600")


def start(page, also=""):
    step(page, "run")
    page.get_by_label("Also with k =").fill(also)
    page.get_by_role("button", name="Start").click()


def download(page, button, folder):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    expect(page.locator(".banner.wait")).to_be_hidden()  # what moves under the pointer is clicked in vain
    return path


def said(page):
    return page.locator(".said .banner")


def test_from_upload_to_download(server, visit, tmp_path, monkeypatch):
    original = firms(tmp_path, 60)
    page = visit(server)
    assert page.evaluate("location.href") == f"{server.origin}/"
    opened(page, original)
    assert page.locator("table.columns tbody tr").count() == 6
    assert page.locator("table.columns svg").count() == 6
    assert page.locator("table.rows tbody tr").count() == 8
    page.get_by_label("Role of profit").select_option("other")

    step(page, "settings")
    page.get_by_role("spinbutton", name="k", exact=True).fill("4")
    expect(page.get_by_text("25 %")).to_be_visible()
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)
    use(page, 8, "auto")  # without a proof
    start(page)
    expect(page.locator(".run.done")).to_have_count(2)
    page.get_by_role("button", name="Look at Run 1").click()

    expect(page.locator(".nicegui-echart")).to_have_count(6)
    expect(page.get_by_text("No release with k = 4 can lose less than")).to_be_visible()
    assert page.locator(".changes tbody tr").count() == 12
    page.locator(".runlist [data-run='2']").click()
    expect(said(page)).to_contain_text("Back at run 2")
    click_point(page, 1)
    expect(said(page)).to_contain_text("Back at run 1")
    page.get_by_label("Side by side with").click()
    page.get_by_role("option", name=re.compile("Run 2")).click()
    expect(page.locator(".panel")).to_have_count(2)
    covered = """(lists) => lists.map(list => {
        const area = element => element.clientWidth * element.clientHeight;
        return [...list.children].reduce((sum, cell) => sum + area(cell), 0) / area(list);
    })"""
    assert min(page.locator(".panel .figures").evaluate_all(covered)) > 0.97  # no cell is empty

    step(page, "take")
    names = ["employees", "turnover", "wages", "assets", "energy_use"]
    place = page.get_by_label("Format").bounding_box()
    released = download(page, "Download the release", tmp_path)
    expect(said(page)).to_contain_text("Your browser has put firms.protected.csv where downloads go")
    assert page.get_by_label("Format").bounding_box() == place  # a click on it is not lost
    assert released.name == "firms.protected.csv"
    assert all(finding.passed for finding in shoal.check(released, 4, names))
    before, after = shoal.read(original), shoal.read(released)
    assert sorted(after["profit"].to_pylist()) == sorted(before["profit"].to_pylist())
    assert after["wages"] != before["wages"]

    page.get_by_label("Format").click()
    page.get_by_role("option", name="Parquet (.parquet)").click()
    assert shoal.read(download(page, "Download the release", tmp_path)).num_rows == 60
    internal = download(page, "Download the internal report", tmp_path).read_text()
    public = download(page, "Download the public report", tmp_path).read_text()
    assert "k = 8 would lose" in internal
    assert "linked" not in public

    plan = download(page, "Download the plan", tmp_path)
    assert shoal.Plan.read(plan).k == 4
    expected = released.read_bytes()
    released.unlink()
    monkeypatch.chdir(tmp_path)
    exec(page.locator("pre").first.inner_text(), {})  # the lines of Python; another test runs the command
    assert released.read_bytes() == expected
    assert original.exists()

    page.reload()
    step(page, "look")
    expect(page.locator(".runlist button")).to_have_count(2)


def click_point(page, number):
    """Click a run's point on the risk-utility map, as soon as the chart has moved it into its place."""
    place = page.wait_for_function(
        """(i) => {
            const element = document.querySelector('.tradeoff .nicegui-echart');
            const chart = element && getElement(Number(element.id.slice(1)))?.chart;
            const point = chart?.getModel()?.getSeriesByIndex(0)?.getData().getItemGraphicEl(i);
            if (!point) return null;
            const [x, y] = chart.convertToPixel({seriesIndex: 0}, chart.getOption().series[0].data[i].value);
            const hit = chart.getZr().handler.findHover(x, y).target;
            return hit && (hit === point || hit.parent === point) ? {x, y} : null;
        }""",
        arg=number - 1,
    ).json_value()
    page.locator(".tradeoff .nicegui-echart").click(position=place)


def test_every_table_of_a_database(server, visit, tmp_path):
    database = tmp_path / "office.db"
    for name in ("firms", "shops"):
        shoal.write(survey(40).select(["wages", "profit"]), f"sqlite:///{database}#{name}")
    page = visit(server)
    opened(page, database, "office.db#firms")
    use(page, 3)
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)
    step(page, "take")
    expected = shoal.read(download(page, "Download the release", tmp_path))
    command = page.locator("pre").nth(1).inner_text()
    assert "sqlite:///office.db#firms" in command
    subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=tmp_path, check=True)
    assert shoal.read(tmp_path / "office_firms.protected.csv").equals(expected)
    page.get_by_label("Format").click()
    page.get_by_role("option", name="SQLite (.db)").click()
    stored = download(page, "Download the release", tmp_path)
    assert shoal.read(f"sqlite:///{stored}#release")["wages"].to_pylist() == expected["wages"].to_pylist()
    page.get_by_label("The table in this tab").click()
    page.get_by_role("option", name=re.compile("shops")).click()
    expect(page.locator("h2")).to_have_text("office.db#shops")


def test_sheets_roles_in_bulk_and_a_plan(server, visit, tmp_path):
    """A workbook with an empty sheet, roles for several columns at once, and a plan with everyday steps."""
    table = survey(90).select(["region", "wages", "turnover", "profit"])
    rows = zip(*(column.to_pylist() for column in table.columns))
    workbook(tmp_path / "book.xlsx", Notes=[], Firms=[table.column_names, *rows])
    late = [["Firms of the north"], [], table.column_names, *zip(*(c.to_pylist() for c in table.columns))]
    workbook(tmp_path / "late.xlsx", *late)
    page = visit(server)
    upload(page, tmp_path / "late.xlsx")
    expect(said(page)).to_contain_text("say which row has the names")
    page.get_by_label("names of columns in row").fill("3")
    opened(page, tmp_path / "late.xlsx", "late.xlsx#!3")
    expect(page.get_by_label("Role of turnover")).to_be_visible()
    for row, name in (("4", "late.xlsx#!4"), ("3", "late.xlsx#!3")):  # after the drop too
        page.get_by_label("Header row").fill(row)
        page.get_by_role("button", name="Read it again").click()
        expect(page.locator("h2")).to_have_text(name)
        expect(page.get_by_label("Role of turnover")).to_have_count(int(row == "3"))
    page.get_by_label("Header row").fill("1")
    page.get_by_role("button", name="Read it again").click()
    expect(said(page)).to_contain_text("say which row has the names")
    opened(page, tmp_path / "book.xlsx", "book.xlsx#Firms")
    page.get_by_text("One role for several columns").click()
    page.get_by_role("combobox", name="Columns").click()
    for name in ("wages", "turnover"):
        page.get_by_role("option", name=name).click()
        expect(page.get_by_role("option", name=name)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Role", exact=True).click()
    page.get_by_role("option", name="confidential", exact=True).click()
    page.get_by_role("button", name="Give them this role").click()
    expect(page.get_by_label("Role of turnover")).to_have_value("confidential")

    plan = shoal.Plan(
        4, columns=["wages", "turnover"], method="mdav", top={"profit": 50}, round={"wages": "base:10"}
    )
    (tmp_path / "plan.toml").write_text(plan.toml())
    (tmp_path / "other.toml").write_text(shoal.Plan(4, columns=["wage"]).toml())
    upload(page, tmp_path / "other.toml")
    expect(said(page)).to_contain_text("The plan is for other columns: this table has no 'wage'")
    upload(page, tmp_path / "plan.toml")
    expect(said(page)).to_contain_text("The form says what the plan says")
    expect(page.locator(".chips")).to_contain_text("profit: cap values above 50")
    page.get_by_label("Join levels of fewer records than").fill("30")  # of region, the first column
    expect(page.locator(".chips")).to_contain_text("region: levels joined rare: 30")
    page.get_by_text("More: strata").click()
    page.get_by_role("checkbox", name=re.compile("Prove")).click()
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)
    page.get_by_role("button", name="Look at Run 1").click()
    step(page, "take")
    released = shoal.read(download(page, "Download the release", tmp_path))
    assert all(wage % 10 == 0 for wage in released["wages"].to_pylist())
    assert "other" in released["region"].to_pylist()


def test_fixed_widths_are_read_and_written_by_a_layout(server, visit, tmp_path):
    page = visit(server, alone=True)
    rows = [f"{i % 60 + 18:3d}{1000 * (i % 9) + 7 * i:7d} {'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "people.fwf").write_text("\n".join(rows) + "\n")
    upload(page, tmp_path / "people.fwf")
    expect(said(page)).to_contain_text("'people.fwf' has columns of fixed widths: drop its layout")
    page.get_by_text("Fixed widths (.fwf").click()
    field = page.get_by_role("textbox", name="Layout")
    field.fill("name,start,width,type,decimals\nage,1,x,integer,")
    upload(page, tmp_path / "people.fwf")
    expect(said(page)).to_contain_text("Line 2 of 'the layout' has no width")
    right = "name,start,width,type,decimals\nage,1,3,integer,\nwage,4,7,number,2\nsex,12,1,text,\n"
    layout = tmp_path / "people.layout.csv"
    layout.write_text(right.replace("wage,4", "wage,3"))
    upload(page, layout)
    expect(said(page)).to_contain_text("Columns 'age' and 'wage' of 'people.layout.csv' overlap")
    layout.write_text(right)
    upload(page, layout)
    expect(said(page)).to_contain_text("The layout is here: now drop the file of fixed widths")
    expect(page.get_by_role("textbox", name="Layout")).to_have_value(right)
    page.get_by_role("textbox", name="Layout").fill("")
    expect(page.get_by_role("textbox", name="Layout")).to_have_value("")
    opened(page, [tmp_path / "people.fwf", layout], "people.fwf")  # both at once
    for name, role in (("age", "quasi"), ("wage", "quasi"), ("sex", "other")):
        page.get_by_label(f"Role of {name}").select_option(role)
    use(page, 4)
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)
    step(page, "take")
    released = download(page, "Download the release", tmp_path)
    assert released.name == "people.protected.fwf"
    lines = released.read_text().splitlines()
    assert len(lines) == 40
    assert {len(line) for line in lines} == {12}
    assert min(sum(other[:10] == line[:10] for other in lines) for line in lines) >= 4


def test_bad_files_are_told_and_nothing_is_lost(server, visit, tmp_path):
    page = visit(server)
    opened(page, firms(tmp_path))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"this is no parquet")
    upload(page, broken)
    expect(said(page)).to_contain_text("'broken.parquet' cannot be read as Parquet")
    other = tmp_path / "picture.png"
    other.write_bytes(b"x")
    upload(page, other)
    expect(said(page)).to_contain_text("an ending that shoal does not know")
    large = tmp_path / "large.csv"
    large.write_bytes(b"a,b\n" + b"1,2\n" * 800_000)
    upload(page, large)
    expect(said(page)).to_contain_text("larger than the 3 MB")
    expect(page.locator("h2")).to_have_text("firms.csv")


def test_wrong_settings_are_told_before_the_click(server, visit, tmp_path):
    page = visit(server, alone=True)
    begin, why = page.get_by_role("button", name="Start"), page.locator("#why")
    expect(page.locator(".hint")).to_have_text("Steps 2 to 5 open with a table.")
    upload(page, firms(tmp_path, 40))
    expect(page.locator(".hint")).to_have_text("Steps 4 and 5 open when a run has finished.")
    use(page, 41)
    words = "k=41 needs at least 41 records, but the table has 40"
    expect(said(page)).to_contain_text(words)
    step(page, "run")
    expect(begin).to_be_disabled()
    expect(why).to_contain_text(words)
    step(page, "settings")
    page.get_by_role("spinbutton", name="k", exact=True).fill("4")
    step(page, "run")
    expect(why).to_be_hidden()
    for also, words in (("many", "'many' is no k"), ("50", "k=50 needs at least 50 records")):
        page.get_by_label("Also with k =").fill(also)
        expect(why).to_contain_text(words)
        expect(begin).to_be_disabled()
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)
    expect(page.locator(".hint")).to_be_hidden()
    use(page, 4, "univariate")  # which takes one column only
    step(page, "run")
    expect(why).to_contain_text("groups by one column")
    expect(begin).to_be_disabled()
    use(page, 4, "mdav")
    page.get_by_role("combobox", name="Strata").first.click()
    page.get_by_role("option", name="employees").click()
    page.keyboard.press("Escape")
    step(page, "run")
    expect(why).to_contain_text("k=4 needs at least 4 records, but stratum")  # by the table
    expect(begin).to_be_disabled()
    expect(page.locator(".run")).to_have_count(1)


def choose_column(page, name):
    page.locator(".by-column").get_by_label("Column", exact=True).click()
    page.get_by_role("option", name=name, exact=True).click()
    expect(page.locator(".by-column")).to_contain_text(f"{name}:")


def rule(page, title, words, **numbers):
    """One of several ways to say a field, with its numbers."""
    page.get_by_role("combobox", name=title).click()
    page.get_by_role("option", name=words, exact=True).click()
    for label, number in numbers.items():
        page.get_by_role("spinbutton", name=re.compile(f"{title}: {label}")).fill(str(number))


def test_single_columns_have_their_steps_requirements_and_levels(server, visit, tmp_path):
    """Levels by dragging and by keys; tails, joins, rounding and rules in fields; shares of levels drawn."""
    rng = np.random.default_rng(0)
    table = survey(80).select(["wages", "turnover"])
    table = table.append_column("grade", [rng.choice(["high", "low", "middle"], 80).tolist()])
    table = table.append_column("illness", [rng.choice(["cold", "flu", "gout"], 80).tolist()])
    shoal.write(table, tmp_path / "people.csv")
    page = visit(server)
    opened(page, tmp_path / "people.csv")
    page.get_by_label("Role of grade").select_option("quasi")
    page.get_by_label("Role of illness").select_option("confidential")
    page.get_by_label("Type of grade").select_option("ordinal")
    words = "The levels of 'grade' have no order yet"
    expect(said(page)).to_contain_text(words)
    use(page, 4, "mdav_generic")
    choose_column(page, "grade")
    levels, here = page.locator(".level"), page.locator(".level > span")
    expect(here).to_have_text(["⠿ high", "⠿ low", "⠿ middle"])
    page.wait_for_function(  # the list can be dragged by now
        "Object.keys(document.querySelector('.levels')).some(key => key.startsWith('Sortable'))"
    )
    first, last = levels.nth(0).bounding_box(), levels.nth(2).bounding_box()
    page.mouse.move(first["x"] + 40, first["y"] + 15)
    page.mouse.down()
    for move in range(200):  # others make room one after another, each in its time
        page.mouse.move(last["x"] + 40 + move % 3, last["y"] + last["height"] - 4)
        if here.all_inner_texts() == ["⠿ low", "⠿ middle", "⠿ high"]:
            break
    page.mouse.up()
    expect(page.locator(".chips")).to_contain_text("grade: order of levels low, middle, high")
    expect(said(page)).to_be_hidden()
    page.get_by_role("button", name="Move high up").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".chips")).to_contain_text("grade: order of levels low, high, middle")
    expect(page.get_by_role("button", name="Move high up")).to_be_focused()
    page.get_by_role("button", name="Move high down").press("Enter")
    expect(here).to_have_text(["⠿ low", "⠿ middle", "⠿ high"])

    choose_column(page, "illness")
    rule(page, "In each group, values of this column", "so many different ones", values=2)
    page.get_by_label("Levels to join").click()
    for name in ("cold", "flu"):
        page.get_by_role("option", name=name).click()
        expect(page.get_by_role("option", name=name)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    page.get_by_label("Their new name").fill("mild")
    page.get_by_role("button", name="Join levels of illness").click()
    choose_column(page, "wages")
    rule(page, "Cap values above", "a share of all values", share=0.9)
    rule(page, "Round what is published", "to multiples", of=5)
    rule(page, "In each group, the largest in the sum", "the n largest have at most p %", n=1)
    expect(said(page)).to_contain_text("Dominance of column 'wages' is N:P, such as 1:80")
    page.get_by_role("spinbutton", name=re.compile("the largest in the sum: p")).fill("90")
    expect(said(page)).to_be_hidden()
    page.get_by_role("checkbox", name="Group it by its logarithm").click()
    expect(page.locator(".chips .q-chip")).to_have_count(6)
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)

    page.get_by_role("button", name="Look at Run 1").click()
    page.get_by_label("Column", exact=True).click()
    page.get_by_role("option", name="grade").click()
    chart = page.get_by_role("img", name="Share of each level of grade before and after")
    shares = page.wait_for_function(
        "(e) => { const o = getElement(Number(e.id.slice(1)))?.chart?.getOption(); "
        "return o && {levels: o.xAxis[0].data, shares: o.series.map(s => s.data)}; }",
        arg=chart.element_handle(),
    ).json_value()
    before = table["grade"].to_pylist()
    assert shares["levels"] == ["low", "middle", "high"]
    assert shares["shares"][0] == [round(100 * before.count(name) / 80, 2) for name in shares["levels"]]
    step(page, "take")
    plan = shoal.Plan.read(download(page, "Download the plan", tmp_path))
    assert (plan.levels, plan.log) == ({"grade": ["low", "middle", "high"]}, ("wages",))
    assert (plan.diversity, plan.regroup) == ({"illness": 2}, {"illness": {"mild": ("cold", "flu")}})
    assert (plan.top, plan.round, plan.dominance) == (
        {"wages": "q0.9"},
        {"wages": "base:5"},
        {"wages": "1:90"},
    )
    released = shoal.read(download(page, "Download the release", tmp_path))
    assert {*released["illness"].to_pylist()} == {"mild", "gout"}
    after = [100 * released["grade"].to_pylist().count(name) / 80 for name in shares["levels"]]
    assert shares["shares"][1] == pytest.approx(after, abs=0.01)


def test_k_is_suggested_for_a_reason(server, visit, tmp_path):
    """The page, `shoal suggest` and Python tell the same story: risk, k, loss."""
    page, path = visit(server), firms(tmp_path, 40)
    opened(page, path)
    use(page, 5)
    page.get_by_label("Linked correctly, at most %").fill("60")
    page.get_by_role("button", name="Suggest k").click()
    take = page.get_by_role("button", name=re.compile("Take k ="))
    expect(take).to_be_visible()
    names = [name for name in shoal.read(path).column_names if name != "id"]
    expected = shoal.suggest(path, 0.6, columns=names, method="mdav")
    expect(page.locator(".advice")).to_contain_text(expected.reason[3:])  # which begins with k=
    assert page.locator(".advice tbody tr").count() == len(expected.comparison.runs)
    take.click()
    expect(page.get_by_role("spinbutton", name="k", exact=True)).to_have_value(str(expected.k))
    step(page, "data")
    opened(page, firms(tmp_path, 12_000, "many.csv"))
    use(page, 5, "optimise")
    endless(page)
    page.get_by_role("button", name="Suggest k").click()
    expect(page.locator(".wait")).to_contain_text("Trying group sizes")
    expect(page.locator(".wait")).to_contain_text("s so far")
    page.get_by_role("button", name="Cancel").click()
    expect(said(page)).to_contain_text("Cancelled: no group size is suggested")
    expect(page.locator(".wait")).to_be_hidden()


def test_cancel_really_stops_and_the_next_run_works(server, visit, tmp_path):
    page = visit(server)
    opened(page, firms(tmp_path, 12_000))
    use(page, 3, "optimise")
    endless(page)
    start(page, "4")
    expect(page.locator("[data-run='1'].run.grouping")).to_be_visible()
    before = server.workers()
    page.get_by_role("button", name="Cancel: Run 2").click()
    page.get_by_role("button", name="Cancel: Run 1").click()
    expect(page.locator(".run.cancelled")).to_have_count(2)
    expect(page.locator(".run.cancelled").first).to_contain_text("Nothing was changed")
    assert len(before - server.workers()) == 1  # the process that computed is gone by then
    step(page, "data")
    opened(page, firms(tmp_path, 60, "small.csv"))
    use(page, 3)
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)


def test_two_tabs_at_once(server, visit, tmp_path):
    first, path = visit(server), firms(tmp_path, 60, "both.csv")
    opened(first, path)
    second = visit(server)
    expect(second.locator("h2")).to_have_text("both.csv")
    first.bring_to_front()  # a browser draws the other tabs seldom, and waits for each drawing
    use(first, 3)
    expect(said(first)).to_contain_text("open in another tab")
    start(first)
    step(second, "run")
    for page in (first, second):
        expect(page.locator(".run.done")).to_have_count(1)
    second.bring_to_front()
    use(second, 6)
    start(second)
    for page in (first, second):
        expect(page.locator(".run.done")).to_have_count(2)
    step(second, "data")
    opened(second, firms(tmp_path, 30, "others.csv"))
    first.bring_to_front()
    step(first, "look")
    expect(first.locator(".runlist button")).to_have_count(2)
    second.bring_to_front()
    step(second, "settings")
    second.get_by_label("The table in this tab").click()
    second.get_by_role("option", name=re.compile("both.csv")).click()
    step(second, "look")
    expect(second.locator(".runlist button")).to_have_count(2)


def test_another_browser_sees_nothing_of_it(server, visit, browser, tmp_path):
    page = visit(server)
    opened(page, firms(tmp_path, 30))
    stranger = browser.new_context()
    other = stranger.new_page()
    assert other.goto(f"{server.origin}/").status == 403
    expect(other.locator("main")).to_contain_text("opens with a code")
    other.get_by_label("Code").fill(server.address)
    other.get_by_role("button", name="Open").click()
    expect(other.locator(".hero")).to_be_visible()
    stranger.close()


def test_the_letter_opens_the_page_and_leaves_nothing_behind(server, browser):
    letter, code = server.letter, server.address.split("#")[1]
    context = browser.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(letter.as_uri())
    expect(page.locator(".hero")).to_be_visible()
    assert page.evaluate("location.href") == f"{server.origin}/"
    assert not [url for url in asked if code in url]  # so it can be in no history
    assert code not in letter.read_text()
    for url in asked:  # what is in the history opens nothing
        if "#" in url or "?page=" in url:
            stranger = browser.new_context().new_page()
            stranger.goto(url)
            expect(stranger.locator("main")).to_contain_text("opens with a code")
            stranger.context.close()
    context.close()


class Another(BaseHTTPRequestHandler):
    """What another user of this machine may start on another port."""

    def do_GET(self):
        self.server.seen.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>harmless</title>" + self.server.body)

    def log_message(self, *words):
        pass


@contextmanager
def another_port(body=b""):
    with ThreadingHTTPServer(("127.0.0.1", 0), Another) as other:
        other.seen, other.body = [], body
        threading.Thread(target=other.serve_forever, daemon=True).start()
        yield other, f"http://127.0.0.1:{other.server_port}/"
        other.shutdown()


def test_another_port_gets_the_cookie_and_nothing_with_it(server, browser, tmp_path):
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.address)
    page.wait_for_function("window.did_handshake")
    opened(page, firms(tmp_path, 30))
    script = f"""<script>
        fetch("{server.origin}/enter", {{method: "POST", headers: {{"X-Key": "x"}}}}).catch(() => {{}});
        document.title = Object.keys(localStorage).length + " keys";
        const place = "{server.origin.replace("http", "ws")}/_nicegui_ws/socket.io/?EIO=4";
        new WebSocket(place + "&transport=websocket").onclose = () => document.title += ", no socket";
    </script>"""
    with another_port(script.encode()) as (other, address):
        thief = context.new_page()
        thief.goto(address)
        expect(thief).to_have_title("0 keys, no socket")
        stolen = other.seen[0]
    assert f"shoal_{server.port}=" in stolen  # browsers do not tell ports apart
    assert "firms" not in server.ask("/", Cookie=stolen).text
    assert server.ask("/enter", "POST", Cookie=stolen).status == 403
    assert server.ask("/upload", "POST", b"a\n1\n", Cookie=stolen, X_Name="a.csv").status == 403
    context.close()


async def relay(port, prefix, reader, writer):
    """One connection through a tunnel, or one request through a proxy that takes a prefix away."""
    there, to_there = await asyncio.open_connection("127.0.0.1", port)
    if prefix:
        head = await reader.readuntil(b"\r\n\r\n")
        first, _, rest = head.partition(b"\r\n")
        if b"upgrade: websocket" not in rest.lower():
            rest = re.sub(rb"(?im)^connection:.*\r\n", b"", rest).replace(
                b"\r\n", b"\r\nConnection: close\r\n", 1
            )
        to_there.write(first.replace(prefix, b"", 1) + b"\r\n" + rest)

    async def pour(source, target):
        with suppress(OSError):
            while piece := await source.read(1 << 16):
                target.write(piece)
                await target.drain()
        with suppress(OSError):
            target.close()

    await asyncio.gather(pour(reader, to_there), pour(there, writer))


@contextmanager
def way_to(inner, outer, prefix=b""):
    """A tunnel or proxy that listens on the outer port, and leads to the inner one."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    listening = asyncio.start_server(lambda *ends: relay(inner, prefix, *ends), "127.0.0.1", outer)
    listener = asyncio.run_coroutine_threadsafe(listening, loop).result()
    yield
    loop.call_soon_threadsafe(listener.close)


def test_it_works_through_the_proxy_of_a_notebook(browser, tmp_path):
    """A tunnel, which has no prefix, is gone through where a server stops."""
    inner, outer, prefix = free_port(), free_port(), "/user/me/proxy"
    server = Server(tmp_path, "--port", str(inner), "--origin", f"http://127.0.0.1:{outer}{prefix}")
    context = browser.new_context(accept_downloads=True)
    page, asked = context.new_page(), set()
    page.on("request", lambda request: asked.add(request.url[: len(server.origin + prefix)]))
    with way_to(inner, outer, prefix.encode()):
        page.goto(server.line.strip())
        page.wait_for_function("window.did_handshake")
        opened(page, firms(tmp_path, 40))
        use(page, 4)
        start(page)
        expect(page.locator(".run.done")).to_have_count(1)
        step(page, "take")
        assert shoal.read(download(page, "Download the release", tmp_path)).num_rows == 40
        page.reload()
        expect(page.locator("h2")).to_have_text("firms.csv")
        assert asked - {"blob:"} == {server.origin + prefix}
        context.close()
    server.port = inner
    assert server.stop() == ("", "")


def test_reading_can_be_cancelled(server, visit, tmp_path):
    endless = tmp_path / "endless.db"
    with closing(sqlite3.connect(endless)) as database:
        database.execute(ENDLESS)
    page = visit(server)
    before = set(server.folder.glob("**/table-*.db"))
    upload(page, endless)
    expect(page.locator(".drop button")).to_be_visible()
    page.locator(".drop button").click()
    expect(said(page)).to_contain_text("endless.db was not kept")
    opened(page, firms(tmp_path, 30))  # the same process for this browser, started anew
    assert set(server.folder.glob("**/table-*.db")) == before


def kept(page, folder):
    """The plans that the page offers without its server: k and method of each, by the link's words."""
    found = {}
    for link in page.locator("#lost-plans a").all():
        with page.expect_download() as waiting:
            link.click()
        waiting.value.save_as(folder / "kept.toml")
        plan = shoal.Plan.read(folder / "kept.toml")
        found[link.inner_text().split(":")[0]] = plan.k, plan.method
    return found


@pytest.fixture
def tunnel():
    with ExitStack() as stack:
        yield stack


def test_a_server_that_stops_is_told_and_its_session_goes_on(server, visit, tmp_path, state, tunnel):
    """In the middle of a run; plans are kept by the browser, the saved session by another server."""
    inner, outer = free_port(), free_port()
    named = "--port", str(inner), "--origin", f"http://127.0.0.1:{outer}"
    first = Server(tmp_path, *named, XDG_STATE_HOME=str(state))
    tunnel.enter_context(way_to(inner, outer))
    page = visit(first, alone=True)
    small, large = firms(tmp_path, 60), firms(tmp_path, 3000, "large.csv")
    opened(page, small)
    plans = page.locator("#lost-plans a")
    expect(plans).to_have_count(0)  # of guesses alone there is nothing to keep
    use(page, 3)
    expect(plans).to_have_text(["Settings"])
    start(page)
    expect(plans).to_have_text(["Run 1: k = 3, mdav, 6 columns"])  # the form says the same
    expect(page.locator(".run.done")).to_have_count(1)
    page.reload()
    expect(plans).to_have_text(["Run 1: k = 3, mdav, 6 columns"])
    opened(page, large)
    use(page, 7, "optimise")
    start(page, "4")
    expect(page.locator(".run.grouping")).to_have_count(1)
    page.get_by_label("The table in this tab").click()
    page.get_by_role("option", name=re.compile("firms.csv")).click()
    expect(page.locator(".run.done")).to_have_count(1)
    use(page, 9)
    expect(plans).to_have_count(4)
    page.get_by_role("button", name="Save the session").click()
    expect(said(page)).to_contain_text(
        "which only you can read: settings and the plan of each run, and no record"
    )
    (path,) = state.glob("shoal/sessions/*.json")
    assert path.stat().st_mode & 0o777 == 0o600
    expect(page.locator("#lost")).to_be_hidden()
    out, err = first.stop()
    assert (first.process.returncode, out, err) == (0, "", "")
    expect(page.locator("#lost")).to_contain_text("The server has stopped. Nothing is lost")
    assert list(kept(page, tmp_path).items()) == [
        ("large.csv, Run 2", (4, "optimise")),
        ("large.csv, Run 1", (7, "optimise")),
        ("firms.csv, Settings", (9, "mdav")),
        ("firms.csv, Run 1", (3, "mdav")),
    ]
    assert not list(tmp_path.glob(".shoal-app.*"))

    damaged = path.with_name("20200101-000000-00000000.json")
    damaged.write_text("[]")
    damaged.chmod(0o600)
    page = visit(server, alone=True)
    sessions = page.locator(".sessions .actions")
    expect(sessions).to_have_count(2)
    expect(sessions.nth(0)).to_contain_text("firms.csv, large.csv; 3 runs")
    expect(sessions.nth(1)).to_contain_text("is damaged, or not of this version of shoal: delete it")
    sessions.nth(1).get_by_role("button", name="Delete").click()
    expect(sessions).to_have_count(1)
    assert not damaged.exists()
    sessions.get_by_role("button", name="Reopen").click()
    expect(page.get_by_text("Drop again")).to_contain_text("firms.csv, large.csv")
    upload(page, small)
    expect(page.get_by_text("Drop again")).to_contain_text("goes on: large.csv.")
    step(page, "settings")
    expect(page.get_by_role("spinbutton", name="k", exact=True)).to_have_value("9")
    step(page, "run")
    expect(page.locator(".run.done")).to_contain_text("k = 3, mdav, 6 columns")


def test_the_step_that_is_shown_stays_as_it_is(server, visit, tmp_path):
    """A click on its own button takes nothing away of what was typed."""
    page = visit(server)
    opened(page, firms(tmp_path, 30))
    use(page, 3)
    step(page, "run")
    page.get_by_label("Also with k =").fill("4")
    step(page, "run")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".run.done")).to_have_count(2)


def test_names_and_cells_never_run(server, visit, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / f"{EVIL.replace('/', '')}.csv"
    names = [EVIL, "</script><script>window.hacked=2</script>", "{b|x} :formatter `${hacked=3}`"]
    rows = [",".join(json.dumps(name).replace("\\", "") for name in [*names, "text"])]
    rows += [f"{a:.2f},{b:.2f},{c:.2f},{EVIL}{a > 0}" for a, b, c in rng.normal(size=(50, 3))]
    path.write_text("\n".join(rows) + "\n")
    page = visit(server)
    page.on("dialog", lambda dialog: pytest.fail("a dialog opened"))
    opened(page, path)
    assert EVIL in page.locator("table.columns tbody th").first.inner_text()
    assert EVIL in page.locator("table.rows tbody td").nth(3).inner_text()
    page.get_by_label("Role of text").select_option("other")
    use(page, 5)
    start(page, "10")
    expect(page.locator(".run.done")).to_have_count(2)
    step(page, "look")
    expect(page.locator(".nicegui-echart")).to_have_count(6)
    for chart in page.locator(".nicegui-echart").all():  # hover: values appear, drawn
        chart.hover()
    page.get_by_label("Column", exact=True).click()
    page.get_by_role("option").nth(1).click()
    step(page, "take")
    expect(page.locator("pre").first).to_contain_text("onerror")
    released = download(page, "Download the release", tmp_path)
    assert re.fullmatch(r"[A-Za-z0-9_-]+\.protected\.csv", released.name)
    assert shoal.read(released).column_names == [*names, "text"]
    download(page, "Download the internal report", tmp_path)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


def test_it_can_be_used_by_keyboard_and_on_a_tablet(server, visit):
    """The demo as it is guessed, at 768 pixels: nothing is cut, menus are not either."""
    page = visit(server)
    page.set_viewport_size({"width": 768, "height": 1024})
    page.get_by_role("button", name="Start with the demo survey").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h2")).to_have_text("survey.csv")
    page.get_by_label("Role of profit").focus()
    page.keyboard.press("End")
    page.locator("[data-step=settings]").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".knumber")).to_be_visible()
    use(page, 5)
    expect(page.get_by_role("checkbox", name="Keep the totals")).to_be_visible()
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, textarea')].filter(e =>
            e.checkVisibility() && e.tabIndex >= 0 &&
            !(e.ariaLabel || e.textContent.trim() || e.labels?.length || e.closest('label')))
            .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    for label in ("Method", "Column", "Missing values", "Rows in the file"):
        page.get_by_role("combobox", name=label, exact=True).click()
        box = page.get_by_role("listbox").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 768
        page.keyboard.press("Escape")
        expect(page.get_by_role("listbox")).to_have_count(0)
    start(page)
    expect(page.locator(".run.done")).to_have_count(1)
    for name in ("data", "settings", "run", "look", "take"):
        step(page, name)
        cut = page.evaluate(
            """() => [...document.querySelectorAll('header *, main *')].filter(e => e.checkVisibility() &&
                !e.closest('.scroll, .q-checkbox, .unseen, svg, canvas') &&
                e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))"""
        )
        assert cut == []
