"""Selenium with chromedriver, which can only be given a host and a port."""

import shutil
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from driver import at, given, serve

TIMEOUT_S = 10

driver = None
own = None


def connect():
    global driver
    options = webdriver.ChromeOptions()
    options.debugger_address = given["address"]["host"]
    # Otherwise Selenium looks for a driver to download.
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(TIMEOUT_S)
    return [page["url"] for page in pages()]


def pages():
    """Selenium has no list of addresses: its users switch to each window in turn."""
    targets = driver.execute_cdp_cmd("Target.getTargets", {})["targetInfos"]
    return [target for target in targets if target["type"] == "page"]


def switch_to(path):
    # Chromedriver's handles are the ids of targets.
    driver.switch_to.window(next(page["targetId"] for page in pages() if page["url"] == at(path)))


def wait_for(what, probe):
    return WebDriverWait(driver, TIMEOUT_S).until(lambda _: probe(), what)


def work():
    """A tab that the client has opened."""
    global own
    if own is None:
        driver.switch_to.new_window("tab")
        own = driver.current_window_handle
    driver.switch_to.window(own)
    if driver.current_url != at("/work"):
        driver.get(at("/work"))


def title():
    switch_to("/inbox")
    return driver.title


def evaluate():
    switch_to("/notes")
    return driver.execute_script("return window.answer")


def click():
    switch_to("/form")
    driver.find_element(By.ID, "press").click()
    return driver.find_element(By.TAG_NAME, "output").text


def type_text():
    switch_to("/form")
    driver.find_element(By.ID, "name").send_keys("hello")
    return driver.find_element(By.ID, "name").get_property("value")


def frame():
    switch_to("/framed")
    driver.switch_to.frame("inner")
    text = driver.find_element(By.ID, "text").text
    driver.switch_to.default_content()
    return text


def open_tab():
    work()
    return driver.title


def navigate():
    work()
    driver.get(at("/next"))
    return driver.title


def screenshot():
    work()
    return driver.get_screenshot_as_base64()


def popup():
    work()
    before = set(driver.window_handles)
    driver.find_element(By.ID, "popup").click()
    opened = wait_for("the popup", lambda: set(driver.window_handles) - before)
    driver.switch_to.window(opened.pop())
    shown = wait_for("its title", lambda: driver.title)
    driver.close()
    driver.switch_to.window(own)
    return shown


def download():
    work()
    behavior = {"behavior": "allow", "downloadPath": given["folder"]}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    driver.find_element(By.ID, "download").click()
    file = Path(given["folder"], "report.txt")
    wait_for("the file", file.exists)
    time.sleep(0.2)
    return file.read_text()


def cookies():
    work()
    driver.add_cookie({"name": "client", "value": "set"})
    found = sorted("{name}={value}".format(**cookie) for cookie in driver.get_cookies())
    return " ".join(found)


def close():
    driver.switch_to.window(own)
    driver.close()


serve(
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
        "popup": popup,
        "download": download,
        "cookies": cookies,
        "close": close,
        "disconnect": lambda: driver.quit(),
    }
)
