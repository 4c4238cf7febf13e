"""A browser that opens pages from the disk, and what it may not do meanwhile."""

import os
import shutil
import time

import pytest


def missing(what):
    """Skip where there is no browser; in continuous integration there has to be one."""
    reason = f"browser tests need {what}; `make test` installs it on Debian, as root"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")  # not longer: playwright's event loop keeps out any other
def browser():
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        missing("playwright")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        missing("Chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


class Visit:
    """A page that is open, with what it asked for and complained about."""

    def __init__(self, page):
        self.page, self.requests, self.complaints = page, [], []
        page.set_default_timeout(30_000)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )

    def settle(self, rank=None):
        """Wait until the page shows a rank in all its parts."""
        which = "" if rank is None else f'="{rank}"'
        self.page.wait_for_selector(f"body[data-settled{which}]")

    def until(self, condition, most=30.0):
        """Wait for a condition in JavaScript; the page's policy forbids playwright's own way."""
        end = time.monotonic() + most
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.02)

    def set_slider(self, name, value):
        """Move a slider, as dragging does."""
        self.page.evaluate(
            """([name, value]) => {
                const slider = document.getElementById(name);
                slider.value = value;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            [name, str(value)],
        )

    def set_rank(self, rank, ranks):
        self.set_slider("rank", list(ranks).index(rank))
        self.settle(rank)

    def set_width(self, width):
        """Make the screen as wide, and wait until the page has drawn itself anew."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        self.settle()

    def type_word(self, text):
        self.page.fill("#word-field", text)

    @property
    def weight(self):
        """What the page says a word weighs, with all digits."""
        return float(self.page.get_attribute("#verdict .answer-value", "data-value"))

    def text(self, selector):
        return self.page.inner_text(selector)


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    """Write pages, open them from the disk, and check in the end that they behaved."""
    contexts, visits = [], []
    folder = tmp_path_factory.mktemp("pages")

    def open_page(html, *, settle=True, before=None, **settings):
        file = folder / f"page{len(visits)}.html"
        file.write_text(html, "utf-8")
        size = {"width": settings.pop("width", 1280), "height": 900}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **settings)
        contexts.append(context)
        opened = Visit(context.new_page())
        visits.append(opened)
        if before is not None:
            opened.page.add_init_script(before)
        opened.page.goto(file.as_uri())
        if settle:
            opened.settle()
        return opened

    yield open_page
    for context in contexts:
        context.close()
    for opened in visits:
        assert opened.complaints == []
        # The page itself, and the worker that it makes of its own text.
        asked = [url for url in opened.requests[1:] if not url.startswith("blob:")]
        assert asked == []
