"""A real headless browser for the tests: started once, asked many things, told what it may not do."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The first browser found; None when there is none."""

needs_browser = pytest.mark.skipif(
    BROWSER is None and not os.environ.get("LAB_BROWSER_REQUIRED"),
    reason="no chromium or google-chrome on this machine: install Debian's chromium",
)
"""Skips a test where there is no browser; with LAB_BROWSER_REQUIRED set it fails instead."""

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--disable-quic",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip

LIMIT_S = 120
"""How long one answer of the browser may take."""

WIDE = """(() => {
  const root = document.documentElement;
  const cut = [...document.querySelectorAll('table')].filter(table => {
    const box = table.parentElement;
    return table.getBoundingClientRect().right > root.clientWidth + 1 || box.scrollWidth > box.clientWidth + 1;
  });
  return {client: root.clientWidth, scroll: root.scrollWidth, cut: cut.map(table => table.id)};
})()"""
"""Width of the page, and the tables that do not fit into it."""


FAINT = """(() => {
  const part = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const a = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map(k => a * top[k] + (1 - a) * below[k]);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const found = part(getComputedStyle(at).backgroundColor);
      layers.push(found);
      if (found.length === 3 || found[3] === 1) break;
    }
    const dark = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    return layers.reverse().reduce((below, top) => over(top, below), dark);
  };
  const faint = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = words.nextNode(); text; text = words.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility({contentVisibilityAuto: true}) || node.closest('style')) continue;
    const style = getComputedStyle(node);
    const below = behind(node);
    const ink = over(part(node instanceof SVGElement ? style.fill : style.color), below);
    const [high, low] = [light(ink), light(below)].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${text.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return faint;
})()"""
"""Text whose contrast with what lies behind it is below WCAG's 4.5, or 3 where it is large."""


class Browser:
    """One browser process, driven over its debugging pipe: commands out, answers and events in."""

    def __init__(self, profile: Path) -> None:
        assert BROWSER is not None, "LAB_BROWSER_REQUIRED is set and there is no browser"
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # the browser reads commands from descriptor 3 and writes answers to descriptor 4
        script = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ("bash", "-c", script, BROWSER, *FLAGS, f"--user-data-dir={profile}", "about:blank")
        self._process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._out, self._in = ours_out, ours_in
        self._buffer = b""
        self._asked = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        """What the open page reported since it was opened."""
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to one command of the DevTools protocol."""
        self._asked += 1
        message: dict[str, Any] = {"id": self._asked, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._asked:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def open(self, page: Path) -> None:
        """Open a file and wait until everything in it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=page.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()
        self.value("document.fonts.ready.then(() => true)")

    def show(self, *, width: int = 1280, media: str = "screen", scheme: str = "light") -> None:
        """Look at the open page otherwise: another width, as print, in the dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)
        self.value("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))")

    def value(self, script: str) -> Any:
        """What an expression gives inside the page; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self) -> bytes:
        """The whole page as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def paper(self) -> bytes:
        """The page as PDF, on the paper its style sheet asks for."""
        self.ask("Emulation.setEmulatedMedia", media="", features=[])
        self.ask("Emulation.clearDeviceMetricsOverride")
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])

    @property
    def console(self) -> list[str]:
        """Everything the page said on the console, errors and warnings included."""
        said = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [json.dumps(event["params"]) for event in self.events if event["method"] in said]

    @property
    def requests(self) -> list[str]:
        """Every address the page asked for."""
        sent = (event for event in self.events if event["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def close(self) -> None:
        """End the process and its children."""
        os.close(self._out)
        os.close(self._in)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + LIMIT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            assert ready, f"the browser said nothing for {LIMIT_S} s"
            read = os.read(self._in, 1 << 20)
            assert read, f"the browser ended with code {self._process.wait()}"
            self._buffer += read
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def started() -> Iterator[Browser]:
    """A browser with a profile of its own that is thrown away."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(Path(profile))
        try:
            yield browser
        finally:
            browser.close()


def look_over(browser: Browser, page: Path) -> None:
    """A page opens silently, asks for nothing, fits a phone, is not cut on paper and is readable, in the dark too."""
    browser.show()
    browser.open(page)
    assert browser.console == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert browser.value(FAINT) == []
    browser.show(scheme="dark")
    assert browser.value(FAINT) == []
    browser.show(width=360)
    phone = browser.value(WIDE)
    assert phone["client"] == 360 and phone["scroll"] <= 360, phone
    browser.show(width=PAPER_PX, media="print")
    printed = browser.value(WIDE)
    assert printed["scroll"] <= printed["client"] and printed["cut"] == [], printed
    browser.show()


def check_page(page: Path, scratch: Path) -> None:
    """The same with a browser of its own; its profile is kept in `scratch`."""
    browser = Browser(scratch / "profile")
    try:
        look_over(browser, page)
    finally:
        browser.close()


PAPER_PX = 703
"""What fits between the margins of an A4 page: 210 − 2 × 12 mm, at 96 px an inch."""
