"""Run the tests of the report in Debian's Chromium, headless and without network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from contextlib import contextmanager

import numpy as np
import pytest

# Software rendering, because test machines have no graphics card.
FLAGS = (
    "--headless=new",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1200,1000",
)


# Seconds after which a page that is not ready counts as failed. The machine may be busy.
PATIENCE = 60


def missing() -> str:
    """Return which program is missing, or an empty text."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed: pip install 'nsse[test]'"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install chromium chromium-driver"
    return ""


@contextmanager
def running_browser(*more_flags):
    """Yield the driver of a browser without network. Without a browser, CI fails and other runs skip."""
    reason = missing()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()  # Chromium has none for root
    for flag in (*FLAGS, *sandbox, *more_flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_network_conditions(offline=True, latency=0, throughput=0)
        driver.set_script_timeout(PATIENCE)
        yield driver
    finally:
        driver.quit()


READY = "return Boolean(window.nsse?.ready)"


def wait_for(driver, script):
    """Wait until the script returns true. Attempts are counted, because machines may be busy."""
    for _ in range(20 * PATIENCE):
        if driver.execute_script(script):
            return
        time.sleep(0.05)
    pytest.fail(f"a page never said {script}")


class Page:
    """A report opened from disk."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(path.as_uri())
        wait_for(driver, READY)
        self.settle()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settle(self):
        """Wait until everything is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def click(self, selector):
        self.js("arguments[0].scrollIntoView({ block: 'center' })", self.find(selector))
        self.find(selector).click()
        self.settle()

    def text(self, selector):
        return self.find(selector).text

    def drawn(self):
        """Return how many points the page draws, by its own count."""
        self.settle()
        return self.js("return window.nsse.stage.drawn")

    def pixels(self):
        """Return the pixels of the canvas of the points, of shape (height, width, 4)."""
        text = self.js(
            "const { canvas } = window.nsse.stage, parts = [];"
            "const copy = new OffscreenCanvas(canvas.width, canvas.height);"
            "const context = copy.getContext('2d', { willReadFrequently: true });"
            "context.drawImage(canvas, 0, 0);"
            "const bytes = context.getImageData(0, 0, canvas.width, canvas.height).data;"
            "for (let k = 0; k < bytes.length; k += 30000)"
            "  parts.push(btoa(String.fromCharCode(...bytes.subarray(k, k + 30000))));"
            "return parts.join('')"
        )
        width, height = self.js("const c = window.nsse.stage.canvas; return [c.width, c.height]")
        flat = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
        return flat.reshape(height, width, 4)

    def places(self):
        """Return the places of all points on the canvas, in its pixels."""
        return np.array(
            self.js(
                "const s = window.nsse.stage; return Array.from({ length: s.points.n }, (_, i) =>"
                " s.screenOf(i).slice(0, 2).map((v) => v * s.ratio))"
            )
        )

    def mouse_to(self, point):
        """Move the mouse over a point."""
        from selenium.webdriver import ActionChains

        overlay = self.find("#overlay")
        self.js("arguments[0].scrollIntoView({ block: 'center' })", overlay)
        x, y = self.js("return window.nsse.stage.screenOf(arguments[0])", point)[:2]
        size = overlay.size
        ActionChains(self.driver, duration=0).move_to_element_with_offset(
            overlay, round(x - size["width"] / 2), round(y - size["height"] / 2)
        ).perform()
        self.settle()
        return ActionChains(self.driver, duration=0)

    def picture(self, selector):
        """Return the gray levels of an image that the page shows."""
        width, height, flat = self.js(
            "const c = arguments[0]; return [c.width, c.height, Array.from(c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data)]",
            self.find(selector),
        )
        return np.array(flat, dtype=np.uint8).reshape(height, width, 4)[..., 0]

    def complaints(self):
        """Return the errors and warnings in the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Return the requested addresses, except the page itself and data inside it."""
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        urls = [
            m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]
