"""Lists your open tabs without touching them, then reads a page in a tab of its own.

    python python_playwright.py [address]
"""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

address = sys.argv[1] if len(sys.argv) > 1 else "https://example.com"

# The relay writes this file while it runs. It contains a secret token, so read it each time instead
# of copying it.
home = Path(os.environ.get("TABWIRE_HOME") or Path.home() / ".tabwire")
cdp_url = (home / "cdp-url").read_text().strip()

with sync_playwright() as playwright:
    browser = playwright.chromium.connect_over_cdp(cdp_url)

    # Your profile, with your cookies and logins. There is only this one: browser.new_context()
    # fails.
    context = browser.contexts[0]

    # Every open tab is a page. Reading its address does not attach Chrome's debugger to it.
    for page in context.pages:
        print(f"Open tab: {page.url}")

    # A new page opens in the background, and stays open unless you close it.
    page = context.new_page()
    try:
        page.goto(address)
        print(f"Title: {page.title()}")
        print(f"Text: {page.locator('body').inner_text()[:200]}")
    finally:
        page.close()

    # This only disconnects. Your browser and your tabs stay open.
    browser.close()
