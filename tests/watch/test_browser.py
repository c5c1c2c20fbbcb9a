"""The page in one file, in a real browser."""

from __future__ import annotations

import copy
from contextlib import ExitStack

import pytest

from ocboost._watch.page import one_file
from tests.support.browser import chromium, visit
from tests.support.documents import comparison_document, happening, live_document, run_document

IMAGE = "<img src=x onerror=\"document.title='taken'\">"
SCRIPT = "</script><script>document.title='taken'</script>"
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
DARK_PAPER, LIGHT_PAPER = "rgb(13, 17, 23)", "rgb(255, 255, 255)"
PLACES = [
    *("h1", "#status", "#legend", "#events-list", "#members-list", "#hypotheses-list", "#features-list"),
    *("#mistakes-list summary", "#mistakes-list .row", "#mistakes-list .carried", "#versions-list"),
    "#numbers-head",
]
# Whether any point of a chart has a colour.
HAS_COLOUR = """([id, wanted]) => {
  const canvas = document.querySelector(`#${id} canvas`);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 250 && wanted.every((x, k) => Math.abs(data[i + k] - x) < 3)) return true;
  return false;
}"""

# How many points are drawn above the accuracies, where the signs of marks are.
SIGNS = """() => {
  const canvas = document.querySelector("#accuracy canvas");
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const data = copy.getImageData(0, 0, canvas.width, Math.round(14 * devicePixelRatio)).data;
  return data.filter((value, i) => i % 4 === 3 && value > 0).length;
}"""

# How many lines the tallest cell of a kind has.
LINES = """selector => Math.max(...[...document.querySelectorAll(selector)].map((cell) => {
  const style = getComputedStyle(cell);
  const inside = cell.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  return Math.round(inside / parseFloat(style.lineHeight));
}))"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def shared_tab(browser):
    with visit(browser) as tab:
        yield tab


@pytest.fixture
def opened(browser, shared_tab, tmp_path):
    """A function that opens a document as a file, and checks in the end that the page did nothing else."""
    path = tmp_path / "page.html"
    with ExitStack() as stack:
        tabs = [shared_tab]

        def open_document(document, **settings):
            path.write_text(one_file(document), encoding="utf-8")
            if settings:  # a tab of its own
                tabs.append(stack.enter_context(visit(browser, **settings)))
            tabs[-1].page.goto(path.as_uri())
            return tabs[-1].page

        yield open_document
        for tab in tabs:
            assert tab.complaints == []
            assert {url for url in tab.requests if not url.endswith("/page.html")} <= {"data:,"}


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def overflows(page):
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_a_run_is_shown(opened):
    page = opened(run_document())
    assert page.title() == "churn – ocboost"
    assert page.locator("h1").inner_text() == "churn"
    status = page.locator("#status").inner_text()
    for words in ("adapted", "recent labels", "20,000", "1,312", "94.1\u00a0%", "2 deployed, 3 adapted"):
        assert words in status
    assert page.locator("#accuracy canvas").count() == 1
    assert page.locator("#log-loss canvas").count() == 1
    assert texts(page, "#legend button") == ["deployed model", "adapted model"]
    assert texts(page, "#events-list b")[0] == "drift, worse"
    assert page.locator("#events-list li").count() == 7
    assert "10.0 → 41.0\u00a0%" in texts(page, "#members-list tr")[0]
    assert "new → 0.35" in texts(page, "#hypotheses-list tr")[2]
    assert "12.0 → 44.0\u00a0%" in texts(page, "#features-list tr")[0]
    assert page.locator("#connection").is_hidden()
    assert page.locator("#commands").is_hidden()
    assert page.locator("#versions").is_hidden()


def test_legend_has_the_means_that_the_series_have(opened):
    document = run_document()
    everything = document["series"]["all"]
    everything["counts"] = [1, 3] * 80  # 320 labels: the mean of the last 200, which are 100 buckets
    everything["accuracy"] = {
        "deployed": [0.0] * 80 + [1.0] * 80,
        "adapted": [1.0, 0.0] * 78 + [None, 0.0] * 2,
    }
    page = opened(document)
    cells = texts(page, "#legend td")
    assert cells[:2] == ["80.0\u00a0%", "50.0\u00a0%"]
    assert cells[4:6] == ["23.9\u00a0%", "24.5\u00a0%"]  # 48 of 201 labels, 78 of 318
    page.select_option("#smoothing", "0")
    assert texts(page, "#legend td")[::4] == ["100.0\u00a0%", "0.0\u00a0%"]


def test_points_of_a_comparison_are_means_already(opened):
    document = comparison_document(3)
    page = opened(document)
    last = [f"{100 * values[-1]:.1f}\u00a0%" for values in document["series"]["all"]["accuracy"].values()]
    cells = texts(page, "#legend td")
    assert cells[::4] == last
    assert cells[1::4] == ["0.0\u00a0%", "1.0\u00a0%", "2.0\u00a0%"]  # as the comparison has them
    assert cells[3::4] == ["0.000", "0.010", "0.020"]
    assert page.locator("#smoothing-choice").is_hidden()
    assert page.locator("#legend-title").inner_text() == "Now: the mean of the last 1,000 labels"


def test_hiding_a_line_hides_its_drift_alone(opened):
    document = run_document()
    document["events"] = [
        happening(1, "guard", 1300, "The adapted model answers from now on.", of="adapted"),
        happening(2, "drift", 6900, "It rose.", of="adapted", better=False),
    ]
    page = opened(document)
    assert texts(page, "#marks > span") == ["▼ drift, worse", "◆ guard"]
    page.locator("#legend button").last.click()
    assert texts(page, "#marks > span") == ["◆ guard"]


def test_choices_change_charts_and_table(opened):
    page = opened(run_document())
    page.get_by_text("The same as a table").click()
    page.locator("#numbers-head th").first.wait_for()
    head = texts(page, "#numbers-head th")
    assert head[:4] == ["label", "time", "accuracy, deployed model", "accuracy, adapted model"]
    assert texts(page, "#numbers-body tr:first-child th") == ["20,000"]
    assert "label 20,000" in page.locator("#accuracy").get_attribute("aria-label")
    page.select_option("#range", "recent")
    assert texts(page, "#numbers-body tr:first-child th") == ["7,500"]
    assert page.locator("#numbers-body tr").count() == 60
    page.select_option("#axis", "time")
    assert set(texts(page, ".by")) == {"by time"}


def test_commands_before_the_first_and_after_the_last_label_are_marked(opened):
    document = run_document()
    every = document["series"]["all"]
    first = happening(1, "frozen", 0, "Learning pauses.", time=every["times"][0] - 60.0)
    last = happening(2, "promoted", every["labels"][-1], "It was deployed.", time=every["times"][-1] + 60.0)
    for event in (first, last):
        page = opened({**document, "events": [event]})
        for axis in ("labels", "time"):
            page.select_option("#axis", axis)
            assert page.evaluate(SIGNS) > 0
    page = opened({**document, "events": [first]})
    page.select_option("#range", "recent")
    assert page.evaluate(SIGNS) == 0
    assert page.locator("#marks").is_hidden()


def test_mistakes_open_by_keyboard_and_say_why(opened):
    page = opened(run_document())
    page.locator("#mistakes-list summary").first.focus()
    page.keyboard.press("Enter")
    page.locator("#mistakes-list .carried").wait_for()
    opened_text = page.locator("#mistakes-list details").first.inner_text()
    for words in ("said stays, was leaves", "calls to support = 5", "+0.830", "−0.220", "1,210 labels later"):
        assert words in opened_text
    page.locator("#mistakes-list summary").nth(1).click()
    page.locator("#mistakes-list details").nth(1).get_by_text("Not explained yet.").wait_for()


def test_a_comparison_of_twenty_is_shown_and_lines_are_hidden_by_keyboard(opened):
    page = opened(comparison_document())
    assert page.locator("#legend tr").count() == 20
    button = page.locator("#legend button").first
    assert page.locator("#marks").inner_text() == "▼ drift, worse"
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert page.locator("#marks").is_hidden()  # its drift goes with it
    page.locator("#lines-none").click()
    assert page.locator("#legend button[aria-pressed=true]").count() == 0
    page.locator("#lines-all").click()
    assert page.locator("#legend button[aria-pressed=true]").count() == 20
    for section in (
        "status .tile",
        "members",
        "hypotheses",
        "features",
        "mistakes",
        "versions",
        "axis-choice",
    ):
        assert page.locator(f"#{section}").is_hidden()


def test_a_file_of_a_live_model_has_no_buttons(opened):
    page = opened(live_document())
    assert texts(page, "#versions-list th") == ["2 (answers)", "1 (deployed)", "0"]
    assert page.locator("#commands").is_hidden()
    assert page.locator("#versions button:visible").count() == 0


def hostile(value, text):
    """The same document with a text in place of every text that comes from outside."""
    kept = {"kind", "guard", "name", "storage"}
    if isinstance(value, dict):
        return {k: v if k in kept and isinstance(v, str) else hostile(v, text) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(entry, text) for entry in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("text", [IMAGE, SCRIPT])
def test_hostile_texts_stay_texts(opened, text):
    document = hostile(live_document(), text)
    document["members"][0]["name"] = document["features"][0]["name"] = text
    document["status"]["guard"] = text
    page = opened(document)
    page.locator("#mistakes-list summary").first.click()
    page.get_by_text("The same as a table").click()
    page.locator("#mistakes-list .carried").wait_for()
    page.locator("#numbers-head th").first.wait_for()
    assert page.title().startswith(text)
    for place in PLACES:
        assert text in page.locator(place).first.inner_text(), place
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 7


def test_marks_of_direction_and_controls_are_spelled_out(opened):
    document = {**run_document(), "title": "a\u202eb\x07c"}
    assert opened(document).locator("h1").inner_text() == "a\\u202eb\\u0007c"


@pytest.mark.parametrize("make", [run_document, comparison_document])
def test_a_phone_does_not_scroll_sideways(opened, make):
    document = make()
    document["title"] = "a_very_long_name_without_any_space_" * 4
    page = opened(document, **PHONE)
    if document["kind"] == "run":
        page.locator("#mistakes-list summary").first.click()
    page.get_by_text("The same as a table").click()
    page.locator("#numbers-body th").first.wait_for()  # it is filled when it opens, a moment later
    assert not overflows(page)
    assert page.evaluate(LINES, "#numbers-body th") == 1


def test_versions_on_a_phone(opened):
    page = opened(live_document(), **PHONE)
    assert page.evaluate(LINES, "#versions-list th") <= 2  # "3 (answers)", not a letter a line
    assert page.evaluate(LINES, "#versions-list td.words") <= 3
    page.evaluate(
        "document.querySelectorAll('#versions-list td:last-child').forEach(c => c.append(BUTTON))".replace(
            "BUTTON", "Object.assign(document.createElement('button'), {textContent: 'Roll back'})"
        )
    )
    assert page.evaluate(
        "(n => n.scrollWidth <= n.clientWidth)(document.querySelector('#versions .scrolls'))"
    )


def test_light_and_dark_follow_the_reader(opened):
    page = opened(run_document(), color_scheme="light")
    blues = {"light": [0x22, 0x72, 0xB5], "dark": [0x6C, 0xB2, 0xFF]}
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == LIGHT_PAPER
    assert page.evaluate(HAS_COLOUR, ["accuracy", blues["light"]])
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == DARK_PAPER
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate(HAS_COLOUR, ["accuracy", blues["dark"]])
    assert not page.evaluate(HAS_COLOUR, ["accuracy", blues["light"]])


EMPTY = {"format": 1, "kind": "run"}
NO_BUCKETS = {"labels": [], "times": [], "counts": [], "accuracy": {}, "log_loss": {}}


@pytest.mark.parametrize(
    "document",
    [
        EMPTY,
        {**dict.fromkeys(run_document()), **EMPTY},
        {**EMPTY, "models": run_document()["models"], "series": {"all": NO_BUCKETS}},
        {**run_document(), "models": [{"name": name, "title": name} for name in ("constructor", "__proto__")]}
        | dict.fromkeys(("events", "members", "mistakes")),
        {**run_document(), "status": {}, "events": [], "mistakes": [], "members": []},
        {
            **EMPTY,
            "models": run_document()["models"],
            "series": {
                "all": {
                    **NO_BUCKETS,
                    "labels": [3],
                    "times": None,
                    "counts": [3],
                    "accuracy": {"adapted": [1.0]},
                }
            },
        },
    ],
    ids=["nothing", "nulls", "no buckets", "no such series", "no sections", "one bucket"],
)
def test_what_is_missing_is_not_shown(opened, document):
    page = opened(copy.deepcopy(document))
    assert page.locator("#curves").is_visible() == bool(document.get("series"))
    for section in ("events", "members", "mistakes", "versions"):
        assert page.locator(f"#{section}").is_hidden()


def test_everything_is_named_and_reached_by_keyboard(opened):
    page = opened(run_document())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    wanted = {"range", "axis", "smoothing", "events-list"}
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert wanted | {"BUTTON", "SUMMARY"} <= reached
    for chart in ("accuracy", "log-loss"):
        assert "adapted model" in page.locator(f"#{chart}").get_attribute("aria-label")
    assert page.get_by_role("region", name="Recent mistakes").count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("banner").count() == 1
