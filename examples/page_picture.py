"""Take the picture of a page that README and docs/exploring.md show.

    seqray demo -o demo
    python examples/page_picture.py demo/explorer.html docs/images/explorer-demo.png

It needs playwright and Chromium, as the browser tests do.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1280, 1270


def take_picture(page_file: Path, picture: Path) -> None:
    """Open a page from the disk, and save what one sees of it first."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium was not found: install it, such as with `make browser`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_file.resolve().as_uri())
        page.wait_for_selector("body[data-settled]")
        page.screenshot(path=str(picture))
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("expected two arguments: a page (.html), and the picture to write (.png)")
    take_picture(Path(sys.argv[1]), Path(sys.argv[2]))
