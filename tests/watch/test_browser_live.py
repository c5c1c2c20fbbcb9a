"""The page of a model in service, in a real browser: states, the token, commands."""

from __future__ import annotations

import pytest

from tests.support.browser import chromium, visit
from tests.support.documents import happening, live_document, mistake
from tests.support.page_service import scripted_service

FIRST_ROLL_BACK = "#versions-list button >> nth=0"
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def service():
    with scripted_service() as running:
        yield running


@pytest.fixture
def tab(browser, service):
    with visit(browser) as opened:
        yield opened
        assert opened.hosts() == {service.address.split("/")[2]}


@pytest.fixture
def page(tab, service):
    """The page after its first state."""
    service.first = live_document()
    tab.page.goto(service.address)
    tab.page.locator("#legend button").first.wait_for()
    yield tab.page
    assert not [text for text in tab.complaints if "Content Security Policy" in text]


def wait_for(page, selector, text):
    page.locator(selector).filter(has_text=text).first.wait_for()


def test_states_are_shown_as_they_come(page, service, tab):
    wait_for(page, "#connection", "connected")
    wait_for(page, "#status", "Labels awaited")
    details = page.locator("#mistakes-list details").first
    details.locator("summary").click()
    page.locator("#mistakes-list .carried").wait_for()
    document = live_document()
    service.pieces.put(b": \n\n")
    service.send({"status": {**document["status"], "learnt": 20_001, "recent_accuracy": None}})
    wait_for(page, "#status", "20,001")
    assert page.locator("#events-list li:visible").count() == 7  # sections that did not come stay
    service.send({"mistakes": [mistake(9, 20_002), *document["mistakes"][:-1]], "members": None})
    wait_for(page, "#mistakes-list", "label 20,002")
    assert page.locator("#mistakes-list details").count() == 6
    assert page.locator("#mistakes-list details[open]").count() == 1
    assert page.locator("#mistakes-list details").nth(1).get_attribute("open") is not None
    assert page.locator("#members").is_hidden()
    assert page.locator(".uplot").count() == 2
    assert tab.complaints == []


def test_new_events_are_announced_and_those_before_are_not(page, service):
    assert page.locator("#announce").inner_text() == ""
    events = live_document()["events"]
    service.send(
        {"events": [*events[1:], happening(8, "drift", 20_010, "It rose <b>again</b>.", better=False)]}
    )
    wait_for(page, "#events-list li", "It rose <b>again</b>.")
    assert page.locator("#announce").text_content() == "It rose <b>again</b>."
    assert page.locator("#events-list li").count() == 7


def test_a_lost_connection_is_said_and_taken_up_again(page, service):
    service.first = {**live_document(), "title": "after the loss"}
    del service.first["versions"]  # the first state of a stream is the whole: nothing of before stays
    service.end_stream()
    wait_for(page, "#connection", "connection lost; trying again in 1 s")
    wait_for(page, "h1", "after the loss")
    wait_for(page, "#connection", "connected")
    assert page.locator("#announce").text_content() == "Connected again."
    assert page.locator("#versions").is_hidden()
    assert len(service.tokens) == 2


def test_the_token_is_asked_for_and_kept_for_the_tab_if_wanted(tab, service):
    page = tab.page
    service.token = "right"
    page.goto(service.address)
    wait_for(page, "#token-message", "This service wants a token.")
    page.keyboard.type("wrong")  # the field has the focus
    page.keyboard.press("Enter")
    wait_for(page, "#token-message", "The token is wrong.")
    service.first = live_document()
    page.fill("#token-value", "right")
    page.check("#token-keep")
    page.click("#token-form button")
    wait_for(page, "h1", "churn")
    assert page.locator("#token").is_hidden()
    assert page.evaluate("Object.entries(sessionStorage)") == [["ocboost-token /", "right"]]  # of this path
    assert page.evaluate("localStorage.length") == 0
    page.click("#promote")
    page.click("#ask-yes")
    wait_for(page, "#outcome", "The adapted model was promoted.")
    assert service.commands == [("/promote", {}, "Bearer right")]
    service.first["title"] = "loaded again"
    page.reload()
    wait_for(page, "h1", "loaded again")


def test_a_token_that_is_not_to_be_kept_is_not(tab, service):
    service.token = "right"
    service.first = live_document()
    tab.page.goto(service.address)
    tab.page.fill("#token-value", "right")
    tab.page.keyboard.press("Enter")
    wait_for(tab.page, "h1", "churn")
    assert tab.page.evaluate("sessionStorage.length + localStorage.length") == 0
    assert service.tokens == [None, "Bearer right"]


def test_however_often_a_token_is_sent_there_is_one_stream(tab, service):
    service.token = "right"
    service.first = live_document()
    tab.page.goto(service.address)
    tab.page.fill("#token-value", "right")
    tab.page.evaluate("for (let i = 0; i < 3; i++) document.getElementById('token-form').requestSubmit()")
    wait_for(tab.page, "h1", "churn")
    service.first = {**live_document(), "title": "after the loss"}
    asked = len(service.tokens)
    service.end_stream()
    wait_for(tab.page, "h1", "after the loss")
    tab.page.wait_for_timeout(300)  # others would ask in the same second
    assert len(service.tokens) == asked + 1


def test_a_token_that_no_service_has_is_wrong_at_once(tab, service):
    service.token = "right"
    tab.page.goto(service.address)
    wait_for(tab.page, "#token-message", "This service wants a token.")
    tab.page.fill("#token-value", "right\N{SNOWMAN}")
    tab.page.keyboard.press("Enter")
    wait_for(tab.page, "#token-message", "The token is wrong.")
    assert service.tokens == [None]


def test_commands_are_confirmed_by_keyboard(page, service):
    service.may_answer.clear()
    page.locator(FIRST_ROLL_BACK).focus()
    page.keyboard.press("Enter")
    wait_for(page, "#ask-title", "Roll back to version 2?")
    page.keyboard.press("Escape")
    page.locator("#ask").wait_for(state="hidden")
    assert service.commands == []
    page.keyboard.press("Enter")  # the focus is on the button again
    page.locator("#ask-yes").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for(page, "#outcome", "Under way")
    assert page.locator("#versions button:enabled").count() == 0
    service.may_answer.set()
    wait_for(page, "#outcome", "Rolled back to version 2.")
    assert page.locator("#versions button:enabled").count() == 5
    assert page.evaluate("document.activeElement.textContent") == "Roll back"
    assert service.commands == [("/rollback", {"version": 2}, None)]


def test_freezing_and_what_fails(page, service):
    page.click("#freeze")
    page.click("#ask-yes")
    wait_for(page, "#outcome", "Frozen.")
    service.send({"status": {**live_document()["status"], "frozen": True}})
    wait_for(page, "#freeze", "Unfreeze")
    wait_for(page, ".warned", "frozen")
    service.answer = (
        404,
        {"error": {"code": "unknown_version", "message": "There is no <i>such</i> version."}},
    )
    page.click("#freeze")
    page.click("#ask-no")
    page.click(FIRST_ROLL_BACK)
    page.click("#ask-yes")
    wait_for(page, "#outcome", "Not done. There is no <i>such</i> version.")
    assert [(path, content) for path, content, _ in service.commands] == [
        ("/freeze", {"frozen": True}),
        ("/rollback", {"version": 2}),
    ]


def test_a_hidden_tab_draws_nothing_until_it_is_seen(page, service):
    page.evaluate(HIDE, True)
    service.send({"title": "hidden"})
    service.end_stream()
    wait_for(page, "#connection", "connection lost")  # so the state before it has come
    assert page.locator("h1").inner_text() == "churn"
    page.evaluate(HIDE, False)
    assert page.locator("h1").inner_text() == "hidden"


def test_nodes_and_listeners_do_not_grow(page, service):
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")

    def counted():
        tools.send("HeapProfiler.collectGarbage")
        found = {each["name"]: each["value"] for each in tools.send("Performance.getMetrics")["metrics"]}
        return found["Nodes"], found["JSEventListeners"]

    def send(first, last):
        for number in range(first, last):
            document = live_document()
            document["title"] = f"state {number}"
            document["mistakes"] = [mistake(number - i, 20_000 + number - i) for i in range(6)]
            document["events"] = [
                happening(number - i, "guard", number - i, f"Event {number - i}.") for i in range(7)
            ]
            service.send(document)
            wait_for(page, "h1", f"state {number}")

    send(10, 20)
    before = counted()
    send(20, 40)
    assert page.locator("#events-list li").count() == 7
    nodes, listeners = counted()
    assert listeners <= before[1]
    assert nodes <= 1.1 * before[0]
