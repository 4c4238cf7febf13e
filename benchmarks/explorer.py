"""How fast a page of `seqray explore` opens and answers, in Debian's Chromium.

``python benchmarks/explorer.py`` prints a short table, and last one line of JSON. It needs
playwright and a Chromium on the path; no browser is downloaded. The automaton has 100 states and
20 symbols, all weights different from 0, in three guises: as it is (probabilities), with its states
turned at random, so that a rank slider runs over 100 leading blocks, and the demo's five states.

``open`` is the time from the navigation to a page whose every part is drawn, the graph laid out,
least of five; ``shown`` the same until the headline and all figures are there. ``typed`` is the
longest time that a symbol typed into a word of 30 takes until its weight stands there, ``slid``
that of a step of the slider of sizes until the page is free again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import one_thread, report

import seqray
from seqray.automata.algebra import change_basis
from seqray.automata.ranks import RankedAutomata
from seqray.explore.page import to_html
from seqray.extraction.result import ExtractionSettings
from seqray.fidelity.compare import compare_ranks
from seqray.fidelity.reference import Reference

SEED, N_STATES, N_SYMBOLS, N_RUNS = 0, 100, 20, 5


def generate(rng: np.random.Generator) -> seqray.WeightedAutomaton:
    """Return a distribution with no weight of 0."""
    probabilities = rng.dirichlet(np.full(N_STATES * N_SYMBOLS + 1, 0.05), size=N_STATES) + 1e-9
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    transitions = probabilities[:, :-1].reshape(N_STATES, N_SYMBOLS, N_STATES).transpose(1, 0, 2)
    initial = rng.dirichlet(np.full(N_STATES, 0.2))
    return seqray.WeightedAutomaton(range(N_SYMBOLS), initial, transitions, probabilities[:, -1])


def turned(wa: seqray.WeightedAutomaton, rng: np.random.Generator) -> seqray.Extraction:
    """Return an extraction whose ranks are cut from the automaton in other coordinates."""
    dense = change_basis(wa, np.linalg.qr(rng.normal(size=(N_STATES, N_STATES)))[0])
    words = wa.sample(100, seed=rng).words
    table = compare_ranks(Reference.query(wa, words), dense, range(1, N_STATES + 1))
    basis = seqray.uniform_basis(wa.alphabet, 10, 10, seed=rng)
    settings = ExtractionSettings(rank=N_STATES, method="weighted", questions=0)
    values = np.arange(N_STATES, 0, -1.0)
    automata = RankedAutomata(dense, singular_values=values)
    return seqray.Extraction(automata, basis, table, settings)


def measure(browser: Any, file: Path) -> dict[str, float]:
    """Open a page a few times, type into it, move its slider."""
    opened, shown = [], []
    for _ in range(N_RUNS):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.perf_counter()
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector("body[data-ready]", state="attached")
        shown.append(time.perf_counter() - begin)
        page.wait_for_selector("body[data-settled]", state="attached")
        opened.append(time.perf_counter() - begin)
        if len(opened) < N_RUNS:
            page.close()
    typed = page.evaluate(
        """() => {
            const field = document.getElementById("word-field"), times = [];
            const symbol = document.querySelector("#chips button").textContent;
            const between = field.value.includes(" ") ? " " : "";
            field.value = "";
            for (let at = 0; at < 30; at += 1) {
                field.value += (at ? between : "") + symbol;
                const begin = performance.now();
                field.dispatchEvent(new Event("input"));
                times.push(performance.now() - begin);
            }
            return Math.max(...times);
        }"""
    )
    slid = page.evaluate(
        """async () => {
            const slider = document.getElementById("rank"), times = [];
            const last = Number(slider.max), step = Math.ceil((last + 1) / 10);
            for (let at = last; at >= 0; at -= step) {
                slider.value = at;
                const begin = performance.now();
                slider.dispatchEvent(new Event("input"));
                await new Promise((done) => setTimeout(done, 61));
                await new Promise((done) => requestAnimationFrame(done));
                times.push(performance.now() - begin - 61);
            }
            return Math.max(...times);
        }"""
    )
    page.close()
    return {
        "open": min(opened),
        "shown": min(shown),
        "typed": typed / 1000,
        "slid": slid / 1000,
        "bytes": file.stat().st_size,
    }


def main() -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        sys.exit("playwright is not installed: pip install playwright")
    if chromium is None:
        sys.exit("there is no Chromium: apt-get install chromium")
    rng = np.random.default_rng(SEED)
    wa = generate(rng)
    demo = seqray.open_black_box("demo")
    pages = {
        "100 states as they are": to_html(wa),
        "100 states and all ranks": to_html(turned(wa, rng)),
        "the demo's network": to_html(
            seqray.extract(demo, prefixes=300, max_rank=30, seed=SEED), box=demo
        ),
    }
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, html in pages.items():
            file = Path(folder, "page.html")
            file.write_text(html, "utf-8")
            figures[name] = measure(browser, file)
        version = browser.version
        browser.close()
    rows = [
        (
            name,
            f"{each['bytes'] / 1e6:.2f} MB  figures {each['shown']:.2f} s  all {each['open']:.2f} s"
            f"  a symbol {1e3 * each['typed']:.0f} ms  a slider {1e3 * each['slid']:.0f} ms",
        )
        for name, each in figures.items()
    ]
    report(rows, {**figures, "chromium": version, "seed": SEED})


if __name__ == "__main__":
    with one_thread():
        main()
