"""Pages in a real browser, opened from the disk: Debian's Chromium, through playwright."""

import re
import zlib
from importlib.resources import files

import numpy as np
import pytest

import seqray
from classifier_boxes import three_classes
from compared_pairs import changed
from copied import copied
from displays import shown
from explore.subjects import (
    NASTY,
    brute_force_shapley,
    large,
    long_names,
    machine,
    many_symbols,
    probabilities,
    real,
    real_box,
    signed,
)
from explore.test_groups import structured
from seqray.explain.background import Background
from seqray.explore.classes_page import classes_html
from seqray.explore.page import to_html

WORDS = ["", "a", "abcd", "dddd", "abba" * 5, "cab" * 60]


@pytest.fixture(scope="module")
def page_of_probabilities():
    return to_html(probabilities(), box=machine(), rank=5, name="a machine")


@pytest.fixture(scope="module")
def shared(visit, page_of_probabilities):
    return visit(page_of_probabilities)


@pytest.fixture
def opened(shared):
    """A page of probabilities that several tests use, at its first rank."""
    shared.set_rank(5, range(1, 7))
    return shared


@pytest.fixture(scope="module")
def without_box(visit):
    """A page of an automaton alone."""
    return visit(to_html(machine()))


@pytest.fixture(scope="module")
def reals(visit):
    """A page about numbers that are no probabilities."""
    return visit(to_html(real(), box=real_box()))


def n_of(opened, selector):
    return opened.page.locator(selector).count()


# What it shows ------------------------------------------------------------------------------------


def test_a_page_opens_from_the_disk_with_all_its_sections(opened):
    assert opened.text("h1") == "a machine, seen as five states"
    assert n_of(opened, ".tile") == 4
    lede = opened.text("#lede")
    assert re.search(r": on average it keeps \S+\s% of the probability of a symbol\.$", lede)
    assert "perplexity" not in lede + opened.text("#tiles")
    options = opened.page.locator("#metric option").all_text_contents()
    assert options[0] == "how much worse it guesses"
    assert not any("perplexity" in option for option in options)
    assert "perplexity_ratio" in opened.page.inner_html("#sizes-table")
    assert n_of(opened, "#graph .state") == 5
    assert n_of(opened, "#heat td") > 0
    assert n_of(opened, "#worst tbody tr") > 0
    assert n_of(opened, "#scatter canvas") == n_of(opened, "#fidelity-chart canvas") == 1
    assert "symbols on average" in opened.text("#facts-body")
    assert "conditional" in opened.text("#made-list")
    assert all(url.startswith(("file:", "blob:")) for url in opened.requests)


def test_a_page_about_numbers_that_are_no_probabilities(reals):
    opened = reals
    assert "practically the same" in opened.text("#lede")
    assert n_of(opened, "#heat") == 0
    assert "rounding only" in opened.text("#worst")
    assert "Its number so far" in opened.text("#step-detail")


def test_without_the_box_a_page_says_how_to_compare(without_box):
    opened = without_box
    assert "--against" in opened.text("#agreement")
    assert "--against" in opened.text("#lede")
    assert not opened.page.is_visible("#rank")
    assert not opened.page.is_visible("#sizes")


def test_copies_of_a_run_are_one_line_below_the_sizes(visit, opened):
    assert not opened.page.is_visible("#copies-note")
    assert "7 states (0.01)" in visit(to_html(copied())).text("#copies-note")


def test_intervals_stand_beside_the_figures(opened):
    tiles = [
        opened.page.get_attribute(f".tile >> nth={at}", "data-metric")
        for at in range(n_of(opened, ".tile"))
    ]
    assert tiles == ["kl_per_symbol", "ratio_per_symbol", "disagreement", "ndcg5"]
    assert "95 % confidence interval" in opened.text("#tiles-note")


def test_without_an_interval_the_page_says_why(visit):
    opened = visit(to_html(machine(), box=machine()))
    assert "±" not in opened.text("#tiles")
    assert "confidence interval" not in opened.text("#tiles-note")
    assert "No word loses anything: with 95 % confidence, fewer" in opened.text("#tiles-note")


def test_a_page_is_light_or_dark_as_the_system_or_its_button_says(opened):
    def is_light():
        found = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", found)[:3])) > 600

    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=scheme)
        assert is_light() == (scheme == "light")
    opened.page.click("#theme")
    assert not is_light()
    opened.page.click("#theme")
    assert is_light()


# Weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", range(1, 7))
def test_a_typed_word_weighs_what_python_says_at_every_rank(opened, rank):
    opened.set_rank(rank, range(1, 7))
    automaton = probabilities().automaton(rank)
    for word in WORDS:
        opened.type_word(word)
        assert opened.weight == pytest.approx(automaton.weight(word), rel=1e-9, abs=1e-300)


def test_weights_of_both_signs_are_as_in_python(reals):
    opened = reals
    for word in ("", "a", "abba", "bbbbbbbb", "ab" * 40):
        opened.type_word(word)
        assert opened.weight == pytest.approx(real().automaton(2).weight(word), rel=1e-9, abs=1e-9)


def test_symbols_that_are_no_characters_are_typed_with_spaces(visit):
    opened = visit(to_html(signed()))
    for word in ([], [11], [10, 2, 11, 0, 5], [3] * 30):
        opened.type_word(" ".join(map(str, word)))
        assert opened.weight == pytest.approx(signed().weight(word), rel=1e-9, abs=1e-12)
    opened.type_word("1 12")
    assert "“12” at position 2 is no symbol" in opened.text("#word-error")
    assert opened.page.get_attribute("#word-field", "aria-invalid") == "true"
    assert "stale" in opened.page.get_attribute("#word-result", "class")
    opened.type_word("1 11")
    assert "stale" not in opened.page.get_attribute("#word-result", "class")


def test_names_with_spaces_are_typed_as_they_are_shown(visit):
    parts = machine().initial, machine().transitions, machine().final
    opened = visit(to_html(seqray.WeightedAutomaton(["New York", "New", "x", "λ y"], *parts)))
    typed = {"New York New x": "abc", "x  New York": "ca", "λ y": "d", "λ": ""}
    for text, word in (typed | {"New | x | New York": "bca"}).items():
        opened.type_word(text)
        assert opened.weight == pytest.approx(machine().weight(word), rel=1e-9)


def test_words_of_names_with_bars_are_typed_as_they_are_shown(visit):
    parts = machine().initial, machine().transitions, machine().final
    named = seqray.WeightedAutomaton(["pay", "pay | ship", "ship", "|"], *parts)
    opened = visit(to_html(named))
    assert "bars || between" in opened.text("#word-help")
    for word in (["pay", "ship"], ["pay | ship", "|"], ["|", "|", "pay"]):
        opened.type_word(named.alphabet.show(word))
        assert opened.weight == pytest.approx(named.weight(word), rel=1e-9)


def test_long_names_are_abbreviated_so_that_words_differ(visit):
    parts = machine().initial, machine().transitions, machine().final
    names = ["Take in charge ticket", "Resolve ticket", "Wait for customer", "Closed at last"]
    automaton = seqray.WeightedAutomaton(names, *parts)
    opened = visit(to_html(automaton, box=automaton))
    shown = opened.page.locator("#heat tbody th button").all_text_contents()
    assert max(map(len, shown)) <= 22
    assert {"Closed at last", "Closed a… | Take in …"} <= set(shown)


def test_a_word_that_is_too_small_for_floats_still_has_a_weight(without_box):
    opened = without_box
    opened.type_word("abcd" * 450)
    expected = machine().log_weights(["abcd" * 450])[1][0] / np.log(10)
    shown = opened.text("#verdict .answer-value")
    assert opened.weight == 0
    assert f"10⁻{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(d)] for d in str(int(-expected) + 1))}" in shown
    opened.type_word("a" * 2001)
    assert "too long for this page" in opened.text("#word-error")


@pytest.mark.parametrize("word", ["a", "ab", "dcba", "abcdabc"])
@pytest.mark.parametrize("rank", [3, 5])
def test_shapley_values_are_those_of_the_definition(opened, word, rank):
    opened.set_rank(rank, range(1, 7))
    opened.type_word(word)
    opened.page.wait_for_selector(f'.step[data-step="{len(word)}"][data-shapley]')
    shown = [
        float(opened.page.get_attribute(f'.step[data-step="{at + 1}"]', "data-shapley"))
        for at in range(len(word))
    ]
    frequencies = Background.frequencies(probabilities().automaton(5)).initial
    expected = brute_force_shapley(probabilities().automaton(rank), word, frequencies)
    assert shown == pytest.approx(expected, rel=1e-9, abs=1e-13)


def test_every_step_has_the_chances_of_the_next_symbol(opened):
    opened.type_word("ab")
    opened.page.click('.step[data-step="1"]')
    numbers = opened.page.locator("#step-detail > div:nth-child(2) .number").all_inner_texts()
    row = np.sort(probabilities().automaton(5).next_symbol(["a"])[0])[::-1]
    shown = [float(re.match(r"[\d.]+", text.lstrip("< "))[0]) for text in numbers]
    assert shown == pytest.approx(100 * row, rel=0.06, abs=0.02)
    assert "Amber" in opened.text("#graph-status")


# Sliders ------------------------------------------------------------------------------------------


ARROWS = "document.querySelectorAll('#graph .arrow:not(.start)').length"


def test_sliders_change_the_graph(opened):
    opened.set_rank(4, range(1, 7))
    assert n_of(opened, "#graph .state") == 4
    assert opened.text("h1").endswith("four states")
    opened.set_slider("threshold", 0)
    opened.until(f"{ARROWS} === 16")
    assert opened.text("#hidden-share") == "All 16 arrows are drawn."
    opened.set_slider("threshold", 55)
    opened.until(f"{ARROWS} < 9")
    assert "of all weight" in opened.text("#hidden-share")
    opened.page.click("#rank-reset")
    opened.settle(5)
    assert n_of(opened, "#graph .state") == 5


def test_a_slider_that_runs_through_all_ranks_ends_at_the_last(opened):
    for rank in range(1, 7):
        opened.set_slider("rank", rank - 1)
    opened.settle(6)
    assert n_of(opened, "#graph .state") == 6
    assert opened.text("#rank-value") == "6"


# Keys ---------------------------------------------------------------------------------------------


def focused(opened):
    return opened.page.evaluate("document.activeElement.id || document.activeElement.className")


def tab_to(opened, name, most=60):
    for _ in range(most):
        if focused(opened) == name:
            return
        opened.page.keyboard.press("Tab")
    pytest.fail(f"{name} cannot be reached by the Tab key")


def test_everything_can_be_done_with_the_keyboard(opened):
    keys = opened.page.keyboard
    opened.page.focus(".skip")
    tab_to(opened, "rank")
    keys.press("ArrowLeft")
    opened.settle(4)
    tab_to(opened, "threshold")
    before = opened.text("#threshold-value")
    drawn = opened.page.get_attribute("#graph-frame", "data-threshold")
    keys.press("ArrowRight")
    assert opened.text("#threshold-value") != before
    opened.until(f"document.getElementById('graph-frame').dataset.threshold !== '{drawn}'")
    tab_to(opened, "zoom-fit")
    keys.press("Tab")
    assert opened.page.evaluate("document.activeElement.getAttribute('role')") == "button"
    view = opened.page.get_attribute("#graph svg.graph", "viewBox")
    keys.press("+")
    assert opened.page.get_attribute("#graph svg.graph", "viewBox") != view
    keys.press("0")
    assert opened.page.get_attribute("#graph svg.graph", "viewBox") == view
    keys.press("ArrowRight")
    keys.press("Enter")
    assert "Its arrows" in opened.text("#state-panel")
    keys.press("Escape")
    assert "Its arrows" not in opened.text("#state-panel")
    tab_to(opened, "word-field")
    keys.press("Control+a")
    keys.type("abd")
    assert opened.weight == pytest.approx(probabilities().automaton(4).weight("abd"), rel=1e-9)
    tab_to(opened, "step")
    keys.press("ArrowLeft")
    assert opened.page.get_attribute('.step[data-step="2"]', "aria-selected") == "true"
    keys.press("Home")
    assert opened.text("#step-detail h3 >> nth=0") == "State after λ"


def test_a_mouse_can_drag_zoom_and_choose(opened):
    page = opened.page
    page.locator("#graph-frame").scroll_into_view_if_needed()
    view = page.get_attribute("#graph svg.graph", "viewBox")
    frame = page.locator("#graph-frame").bounding_box()
    x, y = frame["x"] + 8, frame["y"] + 8
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.up()
    moved = page.get_attribute("#graph svg.graph", "viewBox")
    assert moved != view
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    opened.until(f"document.querySelector('svg.graph').getAttribute('viewBox') !== '{moved}'")
    page.click("#zoom-out")
    page.click("#zoom-in")
    page.click("#zoom-fit")
    assert page.get_attribute("#graph svg.graph", "viewBox") == view
    page.click('#graph .state[data-state="1"]')
    assert "words end here" in opened.text("#state-panel")
    page.click("#state-panel > button")
    page.click("#state-panel .bars button >> nth=0")
    assert "words end here" in opened.text("#state-panel")


def test_words_come_from_chips_draws_dots_and_tables(opened):
    page = opened.page
    opened.type_word("")
    assert opened.weight == pytest.approx(probabilities().automaton(5).weight(""), rel=1e-9)
    page.click("#chips button >> nth=2")
    page.click("#chips button >> nth=0")
    assert page.input_value("#word-field") == "ca"
    page.click("#word-back")
    assert page.input_value("#word-field") == "c"
    page.click("#word-draw")
    drawn = page.input_value("#word-field")
    assert opened.weight == pytest.approx(probabilities().automaton(5).weight(drawn), rel=1e-9)
    page.click("#worst button >> nth=0")
    assert focused(opened) == "word-field"
    page.locator("#scatter").scroll_into_view_if_needed()
    over = page.locator("#scatter .u-over").bounding_box()
    for share in np.linspace(0.02, 0.98, 40):  # along the diagonal there is a word somewhere
        page.mouse.move(over["x"] + share * over["width"], over["y"] + (1 - share) * over["height"])
        if ": box" in opened.text("#scatter-note"):
            break
    assert ", automaton" in opened.text("#scatter-note")


# What could go wrong ------------------------------------------------------------------------------


def test_names_that_are_code_are_shown_and_not_run(visit):
    rng = np.random.default_rng(0)
    probability = rng.dirichlet(np.ones(2 * len(NASTY) + 1), size=2)
    transitions = probability[:, :-1].reshape(2, len(NASTY), 2).transpose(1, 0, 2)
    box = seqray.WeightedAutomaton(NASTY, [0.6, 0.4], transitions, probability[:, -1])
    html = to_html(box, box=box, name=NASTY[1])
    opened = visit(html)
    assert opened.page.evaluate("window.hit") is None
    assert n_of(opened, "main img") == 0
    assert NASTY[1] in opened.text("h1")
    assert opened.page.title().startswith(NASTY[1])
    chips = [chip.replace("\u2068", "").replace("\u2069", "").strip("\u200e") for chip in
             opened.page.locator("#chips button").all_inner_texts()]  # fmt: skip
    assert chips == list(NASTY)
    opened.page.click("#word-draw")
    opened.type_word("")
    for at in range(len(NASTY)):
        opened.page.click(f"#chips button >> nth={at}")
    assert opened.weight == pytest.approx(box.weight(NASTY), rel=1e-9)
    opened.page.click("#graph .state >> nth=0")
    assert opened.page.evaluate("window.hit") is None


HASTE = "const wait = setTimeout; setTimeout = (f, ms) => wait(f, Math.min(ms, 300));"
"""Nobody has to wait until the page has lost its patience."""


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("window.Worker = class { constructor() { throw new Error('no workers here'); } };",
         "no workers here"),
        (f"{HASTE} window.Worker = class {{ postMessage() {{}} terminate() {{}} }};",
         "it took too long"),
    ],
)  # fmt: skip
def test_without_graphviz_states_stand_on_a_circle(visit, page_of_probabilities, broken, why):
    opened = visit(page_of_probabilities, before=broken)
    assert n_of(opened, "#graph .state") == 5  # the page came with their places
    assert opened.text("#graph-status") == ""
    opened.set_rank(4, range(1, 7))
    assert n_of(opened, "#graph .state") == 4
    assert why in opened.text("#graph-status")
    assert overlapping(opened, "#graph .label") == []


def test_a_page_shows_its_graph_without_any_script(bare_kinds):
    opened = bare_kinds["probabilities"]
    assert opened.text("h1") == "a machine, seen as five states"
    assert n_of(opened, "#graph svg .state") == 5
    assert n_of(opened, "#graph svg .arrow") > 5
    frame = opened.page.locator("#graph-frame").bounding_box()
    for state in opened.page.locator("#graph svg .disc").all():
        disc = state.bounding_box()
        assert frame["x"] <= disc["x"] < frame["x"] + frame["width"] - disc["width"]


OVERLAPPING = """(selector) => {
    const boxes = [...document.querySelectorAll(selector)].map((e) => {
        const inside = document.createRange();  // what is shown, also beyond the element
        inside.selectNodeContents(e);
        return [e.textContent, inside.getBoundingClientRect()];
    });
    const pairs = [];
    boxes.forEach(([text, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 &&
            b.top < a.bottom - 1) pairs.push([text, other]);
    }));
    return pairs;
}"""


def overlapping(opened, selector):
    return opened.page.evaluate(OVERLAPPING, selector)


@pytest.fixture(scope="module")
def page_of_a_counter():
    def count(words):
        return [1.0 + w.count("a") % 3 + 0.01 * len(w) for w in words]

    box = seqray.black_box(count, "ab")
    return to_html(seqray.extract(box, prefixes=30, suffixes=30), box=box)


WIDTHS = (360, 768, 1280, 1920)

COLLIDING = """() => {
    const wanted = "h1, h2, h3, h4, .tile, .tile-value, .tile-text, .label, .legend li, label, " +
        "button, select, summary, input:not([type=radio]), output, figcaption, " +
        ".bar-label, .number, .step-symbol, .step-state, nav a";
    const seen = (e) => {  // the part that is not cut off by a frame that scrolls
        let { left, top, right, bottom } = e.getBoundingClientRect();
        for (let frame = e.parentElement; frame; frame = frame.parentElement) {
            if (getComputedStyle(frame).overflowX === "visible") continue;
            const edge = frame.getBoundingClientRect();
            [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
            [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
        }
        return { e, left, top, right, bottom };
    };
    const boxes = [...document.querySelectorAll(wanted)]
        .filter((e) => e.checkVisibility() && !e.closest(".visually-hidden"))
        .map(seen)
        .filter(({ left, top, right, bottom }) => right - left > 1 && bottom - top > 1);
    const pairs = [];
    boxes.forEach((a, at) => boxes.slice(at + 1).forEach((b) => {
        if (a.e.contains(b.e) || b.e.contains(a.e)) return;
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 &&
            b.top < a.bottom - 1) pairs.push([a, b].map(({ e }) => e.outerHTML.slice(0, 90)));
    }));
    return pairs;
}"""


@pytest.fixture(scope="module")
def pages(page_of_probabilities, page_of_a_counter):
    """One page of each kind, by name."""
    return {
        "probabilities": page_of_probabilities,
        "counter": page_of_a_counter,
        "many symbols": to_html(many_symbols(), box=many_symbols()),
        "long names": to_html(long_names(), box=long_names(), name="A box with a long name"),
        "classes": to_html(seqray.extract(three_classes()), box=three_classes(), name="rests"),
        "groups": to_html(structured(33, 6), box=structured(33, 6), name="a copy"),
        "difference": to_html(seqray.diff(machine(), changed(machine()))),
    }


KINDS = (
    "probabilities",
    "counter",
    "many symbols",
    "long names",
    "classes",
    "groups",
    "difference",
)

IMPATIENT = "const wait = setTimeout; setTimeout = (f, ms) => wait(f, ms <= 200 ? ms / 10 : ms);"
"""Sliders and widths rest sooner than for people; Graphviz has the time that it needs."""


@pytest.fixture(scope="module")
def opened_kinds(visit, pages):
    """One open page of each kind, for tests that leave it as it is but for its width."""
    return {kind: visit(page, before=IMPATIENT) for kind, page in pages.items()}


@pytest.fixture(scope="module")
def bare_kinds(visit, pages):
    """Pages in a browser without JavaScript."""
    return {kind: visit(pages[kind], settle=False, java_script_enabled=False) for kind in KINDS[:4]}


SCALE = "document.querySelector('#graph svg.graph:has(.label)')?.getScreenCTM().a ?? 1"
"""How large the letters of the graph are, of those that have labels."""


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overlaps_or_leaves_the_screen_at_any_width(opened_kinds, kind):
    opened = opened_kinds[kind]
    for width in WIDTHS:
        opened.set_width(width)
        assert opened.page.evaluate(COLLIDING) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.page.evaluate(SCALE) >= 0.6


def test_without_a_script_nothing_leaves_the_screen_either(bare_kinds):
    for opened in bare_kinds.values():
        for width in WIDTHS:
            opened.page.set_viewport_size({"width": width, "height": 900})
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_overlaps_is_noticed(opened_kinds):
    page = opened_kinds["counter"].page
    page.evaluate("document.querySelector('.tile').style.marginRight = '-90px'")
    assert page.evaluate(COLLIDING) != []
    page.evaluate("document.querySelector('.tile').style.marginRight = ''")


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        ("probabilities", "light"),
        ("probabilities", "dark"),
        ("counter", "light"),
        ("many symbols", "dark"),
        ("classes", "dark"),
        ("groups", "light"),
    ],
)
def test_axe_finds_nothing_serious(opened_kinds, kind, scheme):
    page = opened_kinds[kind].page
    page.set_viewport_size({"width": 390 if scheme == "light" else 1280, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    violations = page.evaluate(
        "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)"
    )
    page.emulate_media(color_scheme="light")
    serious = [
        (each["id"], node["target"], node["failureSummary"])
        for each in violations
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
    assert serious == []


FOCUSABLE = """() => {
    const wanted = "a[href], button, input, select, summary, [tabindex='0']";
    const radios = new Set();  // the arrow keys choose among those of a group
    return [...document.querySelectorAll(wanted)].filter((e) => {
        if (e.tabIndex < 0 || e.disabled || !e.checkVisibility()) return false;
        if (e.type !== "radio") return true;
        return e.checked && !radios.has(e.name) && radios.add(e.name);
    }).map((e, at) => (e.dataset.focusable = at));
}"""

FOLLOW_FOCUS = """() => {
    window.visited = [];  // what has the focus, whether that can be seen, and how it begins
    addEventListener("focusin", ({ target: e }) => {
        const style = getComputedStyle(e);
        const disc = e.querySelector(".disc");
        const hasRing = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        const isMarked = disc && parseFloat(getComputedStyle(disc).strokeWidth) >= 4;
        visited.push([e.dataset.focusable, Boolean(hasRing || isMarked), e.outerHTML.slice(0, 90)]);
    });
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_tab_key_reaches_everything_and_shows_where_it_is(opened_kinds, kind):
    opened = opened_kinds[kind]
    wanted = set(map(str, opened.page.evaluate(FOCUSABLE)))
    opened.page.evaluate(FOLLOW_FOCUS)
    for _ in range(len(wanted) + 3):
        opened.page.keyboard.press("Tab")
    visited = opened.page.evaluate("visited")
    assert {number for number, *_ in visited} - {None} == wanted
    assert [what for _, is_marked, what in visited if not is_marked] == []


def test_a_group_opens_by_the_enter_key_and_by_a_click(opened_kinds):
    opened = opened_kinds["groups"]
    page = opened.page
    page.locator("#groups svg a >> nth=2").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('group-2').open")
    assert page.evaluate("document.activeElement.parentElement.id") == "group-2"
    assert "What comes next" in opened.text("#group-2")
    page.click("#groups svg a >> nth=4")
    assert page.evaluate("document.getElementById('group-4').open")


PARTS = (
    *("h1", "#kicker", "#lede", "#tiles", "#tiles-note", "#graph-intro", "#legend"),
    *("#made-list", "#hidden-share"),
)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_what_is_there_before_the_script_is_what_the_script_writes(bare_kinds, opened_kinds, kind):
    bare = bare_kinds[kind]
    both = (bare, opened_kinds[kind])
    for part in PARTS:
        before, after = ("".join(each.page.text_content(part).split()) for each in both)
        assert before == after
    assert bare.page.is_visible("#facts-body table")
    assert not bare.page.is_visible("#word")


def test_terms_are_for_everyone_until_experts_choose_theirs(visit, page_of_probabilities):
    opened = visit(page_of_probabilities)
    assert "divergence" not in opened.text("main")
    assert "Singular values" not in opened.text("#sizes")
    opened.page.focus("#terms-everyone")
    opened.page.keyboard.press("ArrowRight")
    assert re.search(r": the automaton loses \S+ bits per symbol of \S+\.$", opened.text("#lede"))
    assert "Singular values" in opened.text("#sizes")
    options = opened.page.locator("#metric option").all_text_contents()
    assert options[0] == "bits lost per symbol (divergence)"
    opened.page.reload()
    opened.settle()
    assert opened.page.is_checked("#terms-experts")
    opened.requests.pop()  # the page itself, again


REFUSED = """Object.defineProperty(window, "localStorage", {
    get() { throw new DOMException("refused", "SecurityError"); } });"""


def test_a_browser_that_remembers_nothing_still_switches_terms(visit, page_of_probabilities):
    opened = visit(page_of_probabilities, before=REFUSED)
    opened.page.check("#terms-experts")
    assert "divergence" in opened.text("#tiles")


def test_on_paper_a_page_is_dark_on_white_even_where_the_screen_is_dark(opened_kinds):
    opened = opened_kinds["probabilities"]
    opened.page.emulate_media(media="print", color_scheme="dark")
    colours = opened.page.evaluate(
        "['--paper', '--ink'].map((name) => "
        "getComputedStyle(document.documentElement).getPropertyValue(name).trim())"
    )
    assert colours == ["#ffffff", "#000000"]
    assert not opened.page.is_visible("#bar")
    assert opened.page.is_visible("#graph svg")
    opened.page.emulate_media(media="screen", color_scheme="light")


def test_a_perfect_copy_is_said_to_be_one(visit):
    box = machine()
    opened = visit(to_html(box, box=box))
    values = opened.page.locator(".tile-value > span").all_text_contents()
    assert values == ["0 bits", "100 %", "100 %", "1"]
    assert opened.text("#hidden-share") == "All 12 arrows are drawn."
    assert "differ by rounding only" in opened.text("#worst")
    assert "The two differ by rounding only." in opened.text("#heat-note")


def resealed(html):
    """Return a page whose content was changed on purpose, with the checksum of what it is now."""
    content = re.search(r'id="content"[^>]*>(.*?)</script>', html, re.DOTALL)[1]
    checksum = zlib.crc32(content.encode())
    return re.sub(r'data-checksum="\d+"', f'data-checksum="{checksum}"', html, count=1)


def test_a_counter_opens_with_most_of_its_weight(visit):
    rng = np.random.default_rng(0)
    counting = np.array([np.eye(9)[np.roll(np.arange(9), -by)] for by in (1, 3, 4, 7)])
    nearly = counting * rng.uniform(0.97, 1.03, counting.shape) + 1e-4 * rng.random((9, 9))
    html = to_html(seqray.WeightedAutomaton("abcd", np.eye(9)[0], nearly / 4, np.eye(9)[0]))
    # By Python's opening, and by that of other sizes, which the page finds itself.
    for page in (html, resealed(html.replace('"first":{', '"unknown":{'))):
        share = re.search(r"drawn, (\S+) % of all", visit(page).text("#hidden-share"))
        assert share is None or float(share[1]) <= 34


def test_what_is_drawn_is_said_without_contradiction(visit):
    one = seqray.WeightedAutomaton("ab", [1], [[[0.5 - 1e-5]], [[1e-5]]], [0.5])
    opened = visit(to_html(one))
    assert opened.text("#hidden-share") == "The only arrow is drawn."
    opened.set_slider("threshold", 30)
    said = "The only arrow is drawn, without its lightest symbols: < 0.01 % of all steps."
    assert opened.text("#hidden-share") == said
    assert "Words have 1 symbol on average" in opened.text("#facts-body")
    opened.type_word("")
    assert opened.text(".answer-note") == "50 % of all words"
    opened.type_word("b" * 80)
    assert opened.text(".answer-note").startswith("one in 2 × 10⁴⁰⁰ words")


def test_states_with_long_names_can_be_told_apart(bare_kinds, opened_kinds):
    opened = opened_kinds["long names"]
    for texts in (
        opened.page.locator("#graph .what").all_text_contents(),
        bare_kinds["long names"].page.locator("#graph .what").all_text_contents(),
        opened.page.locator("#state-panel .bar-label").all_inner_texts(),
    ):
        assert len(texts) == len(set(texts)) == 14


def test_a_large_automaton_opens_and_stays_responsive(visit):
    html = to_html(large(), rank=100)
    assert len(html.encode()) < 3_000_000
    opened = visit(html)
    assert n_of(opened, "#graph .state") == 100
    opened.type_word("0 13 4 4 19")
    assert opened.weight == pytest.approx(large().weight([0, 13, 4, 4, 19]), rel=1e-9)
    opened.set_slider("threshold", 0)
    opened.until(
        "document.getElementById('graph-status').textContent.includes('heaviest of 10,000')"
    )
    assert n_of(opened, "#graph .arrow:not(.start)") == 400


def test_a_page_whose_content_is_damaged_shows_no_number(visit, page_of_probabilities):
    before, content = page_of_probabilities.split('id="content">')
    digit = re.search(r"0\.\d*([1-8])", content)
    at = digit.start(1)
    damaged = content[:at] + str(int(digit[1]) + 1) + content[at + 1 :]
    opened = visit(f'{before}id="content">{damaged}', settle=False)
    opened.page.wait_for_selector("#failure:not([hidden])")
    assert "its content is damaged" in opened.text("#failure")
    assert n_of(opened, ".tile") == 0
    opened.complaints.clear()


def test_a_page_of_classes_whose_content_is_damaged_shows_nothing_else(visit):
    page = classes_html(
        seqray.DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0]).to_classifier()
    )
    opened = visit(page.replace('data-checksum="', 'data-checksum="1'), settle=False)
    opened.page.wait_for_selector("p[role=alert]")
    assert "not to be trusted: its content is damaged" in opened.text("body")


def test_a_browser_that_is_too_old_is_told_so(visit, page_of_probabilities):
    opened = visit(page_of_probabilities, settle=False, before="delete window.DecompressionStream;")
    opened.page.wait_for_selector("#failure:not([hidden])")
    assert "needs a browser from 2023" in opened.text("#failure")
    assert len(opened.complaints) == 1
    opened.complaints.clear()


# Classifiers --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classifier_page(opened_kinds):
    """The page of classes; what is typed there stays for the tests that follow."""
    return opened_kinds["classes"]


def test_a_page_about_a_classifier_says_nothing_of_perplexity_language_or_ends(classifier_page):
    classifier_page.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = 1)")
    words = set(re.findall(r"[a-z]+", classifier_page.text("body").lower()))
    assert {"classes", "states", "agreement"} <= words
    assert not {"perplexity", "language", "end", "ends", "ended", "kl", "ndcg", "wer"} & words
    assert n_of(classifier_page, "#graph .state") == 3


@pytest.mark.parametrize("word", ["", "a", "abcb", "bbbacab"])
def test_the_class_of_a_typed_word_is_that_of_the_box(classifier_page, word):
    classifier_page.type_word(word)
    (expected,) = three_classes().classify([word])
    assert classifier_page.text("#verdict .chip") == expected
    rows = classifier_page.page.locator("#path tbody tr .chip").all_text_contents()
    assert rows == three_classes().classify([word[:n] for n in range(len(word) + 1)])


def test_the_page_names_the_same_states_as_the_explanation_of_a_word(classifier_page):
    classifier_page.type_word("abcb")
    explanation = seqray.explain_decision(seqray.extract(three_classes()), "abcb")
    rows = classifier_page.page.locator("#path tbody tr td:nth-child(2)").all_text_contents()
    assert rows == explanation.as_dict()["states"]


def test_every_flip_on_the_page_has_the_class_of_the_box(classifier_page):
    classifier_page.type_word("abc")
    items = classifier_page.page.locator("#flips li").all_text_contents()
    assert items
    note = classifier_page.text("#flip-note")
    assert note.startswith(f"{len(items)} of ")  # all are listed
    for item in items:
        marked, _, name = item.partition(" ")
        assert marked.count("[") == 1
        word = re.sub(r"\[(?:−.|\+(.)|.→(.))\]", lambda edit: edit[1] or edit[2] or "", marked)
        assert three_classes().classify([word]) == [name]


def test_a_page_about_a_classifier_has_words_for_everyone_and_for_experts(classifier_page):
    assert "margin" not in classifier_page.text("#agreement")
    classifier_page.page.check("#terms-experts")
    assert "Agreement by margin of the box" in classifier_page.text("#agreement")
    assert "balanced_agreement" in classifier_page.text("#agreement")


def test_a_symbol_that_is_none_is_named(classifier_page):
    classifier_page.type_word("abx")
    assert "x is no symbol: expected a, b, c." in classifier_page.text("#word-problem")


# In a notebook ------------------------------------------------------------------------------------


def test_a_page_runs_in_the_frame_that_a_notebook_shows(visit):
    page = probabilities().explore(rank=5, name="a machine", height=500)
    opened = visit(
        f"<!DOCTYPE html><title>notebook</title>{shown(page)['text/html']}", settle=False
    )
    frame = opened.page.frame_locator("iframe")
    frame.locator('body[data-settled="5"]').wait_for()
    assert frame.locator("h1").inner_text() == "a machine, seen as five states"
    frame.locator("#rank").press("ArrowLeft")  # this graph is laid out by the worker
    frame.locator('body[data-settled="4"]').wait_for()
    assert frame.locator("#graph-frame .state").count() == 4
