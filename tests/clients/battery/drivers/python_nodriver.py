"""
nodriver and zendriver, which is a fork of it with the same calls. They can only be given a host and a port.
"""

import asyncio
import base64
import inspect
from pathlib import Path

# Each has an environment of its own.
try:
    import nodriver as library
    from nodriver import cdp
except ModuleNotFoundError:
    import zendriver as library
    from zendriver import cdp

from driver import at, given, serve_async

TIMEOUT_S = 10

browser = None
own = None


async def connect():
    global browser
    address = given["address"]
    browser = await library.start(host=address["host"].split(":")[0], port=address["port"])
    return [tab.target.url for tab in browser.tabs]


async def tab_at(path):
    await browser.update_targets()
    return next(tab for tab in browser.tabs if tab.target.url == at(path))


async def wait_for(what, probe):
    for _ in range(TIMEOUT_S * 20):
        if found := await probe():
            return found
        await asyncio.sleep(0.05)
    raise TimeoutError(f"waited too long for {what}")


async def work():
    """A tab that the client has opened."""
    global own
    if own is None:
        own = await browser.get(at("/work"), new_tab=True)
    elif await own.evaluate("location.href") != at("/work"):
        await own.get(at("/work"))
    await wait_for("the page", lambda: own.evaluate("document.readyState == 'complete'"))
    return own


async def title():
    return await (await tab_at("/inbox")).evaluate("document.title")


async def evaluate():
    return await (await tab_at("/notes")).evaluate("window.answer")


async def click():
    tab = await tab_at("/form")
    await (await tab.select("#press")).click()
    return await tab.evaluate("document.querySelector('output').textContent")


async def type_text():
    tab = await tab_at("/form")
    await (await tab.select("#name")).send_keys("hello")
    return await tab.evaluate("document.querySelector('#name').value")


async def frame():
    tab = await tab_at("/framed")
    inner = next(each for each in await tab.get_frames() if each.target.url.endswith("/inner"))
    return await inner.evaluate("document.querySelector('#text').textContent")


async def open_tab():
    return await (await work()).evaluate("document.title")


async def navigate():
    tab = await work()
    await tab.get(at("/next"))
    await wait_for("the page", lambda: tab.evaluate("document.title == 'Next'"))
    return await tab.evaluate("document.title")


async def screenshot():
    tab = await work()
    file = await tab.save_screenshot(str(Path(given["folder"], "page.png")), format="png")
    return base64.b64encode(Path(file).read_bytes()).decode()


async def intercept():
    tab = await work()

    async def answer(event):
        body = base64.b64encode(b"from the client").decode()
        await tab.send(cdp.fetch.fulfill_request(event.request_id, 200, body=body))

    tab.add_handler(cdp.fetch.RequestPaused, answer)
    await tab.send(cdp.fetch.enable([cdp.fetch.RequestPattern(url_pattern="*/data")]))
    text = await tab.evaluate("fetch('/data').then((each) => each.text())", await_promise=True)
    await tab.send(cdp.fetch.disable())
    return text


async def popup():
    tab = await work()
    await (await tab.select("#popup")).click()
    opened = await wait_for("the popup", find_popup)
    await wait_for("its title", lambda: opened.evaluate("document.title"))
    shown = await opened.evaluate("document.title")
    await opened.close()
    return shown


async def find_popup():
    await browser.update_targets()
    return next((tab for tab in browser.tabs if tab.target.url == at("/popup")), None)


async def download():
    tab = await work()
    await tab.set_download_path(Path(given["folder"]))
    await (await tab.select("#download")).click()
    file = Path(given["folder"], "report.txt")

    async def is_complete():
        return file.exists() and file.stat().st_size > 0

    await wait_for("the file", is_complete)
    return file.read_text()


async def cookies():
    cookie = cdp.network.CookieParam(name="client", value="set", url=at("/"))
    await browser.cookies.set_all([cookie])
    found = await browser.cookies.get_all()
    return " ".join(sorted(f"{each.name}={each.value}" for each in found))


async def close():
    await own.close()


async def disconnect():
    if library.__name__ == "zendriver" and "home" not in given["address"]:
        # Its stop() sends Browser.close, which would end the browser that is compared with.
        return await browser.connection.aclose()
    stopped = browser.stop()
    if inspect.isawaitable(stopped):
        await stopped


library.loop().run_until_complete(
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
            "disconnect": disconnect,
        }
    )
)
