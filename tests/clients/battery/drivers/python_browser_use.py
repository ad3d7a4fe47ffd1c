"""browser-use, without a model: the actions that its agents take, and its pages."""

import asyncio
import re
from pathlib import Path

from browser_use import Browser
from browser_use.browser.events import CloseTabEvent, SwitchTabEvent

from driver import at, given, serve_async

browser = Browser(cdp_url=given["address"]["ws"], downloads_path=given["folder"])
own = None


async def until(probe):
    """Waits until a probe returns something. browser-use does not wait for pages to load."""
    for _ in range(100):
        if found := await probe():
            return found
        await asyncio.sleep(0.1)
    raise TimeoutError(f"waited too long for {probe.__name__}")


async def dispatch(event):
    done = browser.event_bus.dispatch(event)
    await done
    await done.event_result(raise_if_any=True, raise_if_none=False)


async def tab_at(path):
    return next((tab for tab in await browser.get_tabs() if tab.url == at(path)), None)


async def page_at(path):
    for page in await browser.get_pages():
        if await page.get_url() == at(path):
            return page
    return None


async def element(page, selector):
    return (await page.get_elements_by_css_selector(selector))[0]


async def loaded(page, path):
    async def is_loaded():
        state = "(path) => document.readyState == 'complete' && location.pathname == path"
        return await page.evaluate(state, path) == "True"

    await until(is_loaded)


async def work():
    """A tab that the client has opened, in which its agent works."""
    global own
    if own is None:
        await browser.navigate_to(at("/work"), new_tab=True)
        own = await browser.must_get_current_page()
    elif await own.get_url() != at("/work"):
        await own.goto(at("/work"))
    await loaded(own, "/work")
    return own


async def connect():
    await browser.start()
    return [tab.url for tab in await browser.get_tabs()]


async def title():
    return (await tab_at("/inbox")).title


async def evaluate():
    return int(await (await page_at("/notes")).evaluate("() => window.answer"))


async def click():
    page = await page_at("/form")
    await (await element(page, "#press")).click()
    return await page.evaluate("() => document.querySelector('output').textContent")


async def type_text():
    page = await page_at("/form")
    await (await element(page, "#name")).fill("hello")
    return await page.evaluate("() => document.querySelector('#name').value")


async def frame():
    """What an agent sees of the tab that it has switched to."""
    await dispatch(SwitchTabEvent(target_id=(await tab_at("/framed")).target_id))
    text = await browser.get_state_as_text()
    return re.search("inside the frame", text)[0]


async def open_tab():
    return await (await work()).get_title()


async def navigate():
    page = await work()
    await page.goto(at("/next"))
    await loaded(page, "/next")
    return await page.get_title()


async def screenshot():
    return await (await work()).screenshot()


async def intercept():
    """browser-use has no call for this; its CDP client is for what it lacks."""
    page = await work()
    session = await browser.get_or_create_cdp_session(page._target_id, focus=False)
    cdp = session.cdp_client

    def answer(event, session_id=None):
        response = {
            "requestId": event["requestId"],
            "responseCode": 200,
            "body": "ZnJvbSB0aGUgY2xpZW50",  # "from the client"
        }
        asyncio.ensure_future(cdp.send.Fetch.fulfillRequest(response, session_id=session_id))

    cdp.register.Fetch.requestPaused(answer)
    patterns = {"patterns": [{"urlPattern": "*/data"}]}
    await cdp.send.Fetch.enable(patterns, session_id=session.session_id)
    text = await page.evaluate("() => fetch('/data').then((response) => response.text())")
    await cdp.send.Fetch.disable(session_id=session.session_id)
    return text


async def popup():
    page = await work()
    await (await element(page, "#popup")).click()

    async def popup_page():
        return await page_at("/popup")

    popup = await until(popup_page)
    await loaded(popup, "/popup")
    title = await popup.get_title()
    await dispatch(CloseTabEvent(target_id=popup._target_id))
    return title


async def download():
    page = await work()
    await (await element(page, "#download")).click()

    async def downloaded_file():
        return browser.downloaded_files

    return Path((await until(downloaded_file))[0]).read_text()


async def cookies():
    cookie = {"name": "client", "value": "set", "url": at("/")}
    await browser.cdp_client.send.Storage.setCookies({"cookies": [cookie]})
    found = await browser.cookies()
    return " ".join(sorted(f"{cookie['name']}={cookie['value']}" for cookie in found))


async def close():
    if own:
        await dispatch(CloseTabEvent(target_id=own._target_id))


asyncio.run(
    serve_async(
        {
            "connect": connect,
            "title": title,
            "evaluate": evaluate,
            "click": click,
            "type": type_text,
            "frame": frame,
            "open": open_tab,
            "navigate": navigate,
            "screenshot": screenshot,
            "intercept": intercept,
            "popup": popup,
            "download": download,
            "cookies": cookies,
            "close": close,
            "disconnect": browser.stop,
        }
    )
)
