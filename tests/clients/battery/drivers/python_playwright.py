"""Playwright for Python."""

import base64
from pathlib import Path

from playwright.sync_api import sync_playwright

from driver import at, given, serve

TIMEOUT_MS = 12_000

playwright = sync_playwright().start()
browser = None
context = None
own = None


def connect():
    global browser, context
    browser = playwright.chromium.connect_over_cdp(given["address"]["ws"], timeout=TIMEOUT_MS)
    context = browser.contexts[0]
    context.set_default_timeout(TIMEOUT_MS)
    return [page.url for page in context.pages]


def page_at(path):
    return next(page for page in context.pages if page.url == at(path))


def work():
    """A tab that the client has opened."""
    global own
    own = own or context.new_page()
    if own.url != at("/work"):
        own.goto(at("/work"))
    return own


def click():
    page_at("/form").click("#press")
    return page_at("/form").text_content("output")


def type_text():
    page_at("/form").locator("#name").press_sequentially("hello")
    return page_at("/form").input_value("#name")


def navigate():
    page = work()
    page.goto(at("/next"))
    return page.title()


def intercept():
    page = work()
    page.route("**/data", lambda route: route.fulfill(body="from the client"))
    text = page.evaluate("async () => (await fetch('/data')).text()")
    page.unroute("**/data")
    return text


def popup():
    page = work()
    with page.expect_popup() as opened:
        page.click("#popup")
    opened.value.wait_for_load_state()
    title = opened.value.title()
    opened.value.close()
    return title


def download():
    page = work()
    with page.expect_download() as started:
        page.click("#download")
    return Path(started.value.path()).read_text()


def cookies():
    context.add_cookies([{"name": "client", "value": "set", "url": at("/")}])
    found = context.cookies(at("/"))
    return " ".join(sorted(f"{cookie['name']}={cookie['value']}" for cookie in found))


serve(
    {
        "connect": connect,
        "title": lambda: page_at("/inbox").title(),
        "evaluate": lambda: page_at("/notes").evaluate("() => window.answer"),
        "click": click,
        "type": type_text,
        "frame": lambda: page_at("/framed").frame_locator("#inner").locator("#text").text_content(),
        "open": lambda: work().title(),
        "navigate": navigate,
        "screenshot": lambda: base64.b64encode(work().screenshot()).decode(),
        "intercept": intercept,
        "popup": popup,
        "download": download,
        "cookies": cookies,
        "close": lambda: own and own.close(),
        "disconnect": lambda: browser.close(),
    }
)
