"""Automata as programs in C and JavaScript, compiled and run."""

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pytest

from docs.run_page import blocks
from scorer_cases import AUTOMATA, code_words, symbols_of
from seqray import WeightedAutomaton, deterministic_pfa
from seqray.formats.scorer import to_c, to_js, write_c, write_js
from source_rules import ROOT

ODD_SYMBOLS = ['"', "*/", "\\", "a\nb", "??/", "é", "%s", "</script>"]


def check(automaton, words, weights, logs):
    assert weights == pytest.approx(automaton.weights(words), rel=1e-12, abs=1e-300)
    sign, expected = automaton.log_weights(words)
    assert logs[sign != 0] == pytest.approx(expected[sign != 0], rel=1e-12, abs=1e-12)
    assert np.isneginf(logs[sign == 0]).all()


@pytest.mark.parametrize("name", AUTOMATA)
def test_the_program_in_javascript_answers_as_the_automaton(tmp_path, name):
    if shutil.which("node") is None:
        pytest.skip("there is no node here to run JavaScript")
    automaton = AUTOMATA[name]
    write_js(automaton, tmp_path / "scorer.js")
    codes = code_words(automaton)
    words = symbols_of(automaton, codes)
    answers = in_node(tmp_path, f"{json.dumps(codes)}.map(each => scorer.score(each))")
    weights, logs = (
        np.array([float(each[key]) for each in answers]) for key in ("weight", "logWeight")
    )
    check(automaton, words, weights, logs)
    if answers[0]["scores"] is not None:
        scores = np.array([each["scores"] for each in answers])
        assert scores == pytest.approx(automaton.scores(words), abs=1e-12)
        names = [automaton.classes[each["decision"]] for each in answers]
        assert names == getattr(automaton, "decide" if name == "DFA" else "classify")(words)
    elif automaton.is_distribution:
        following = np.array([each["next"] for each in answers])
        assert following == pytest.approx(automaton.next_symbol(words), abs=1e-12)


def in_node(folder, expression):
    infinite = "(_, x) => (Math.abs(x) === Infinity ? String(x) : x)"
    opened = 'const scorer = require("./scorer.js");'
    script = f"{opened} console.log(JSON.stringify({expression}, {infinite}))"
    done = subprocess.run(
        ["node", "-e", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


class CompiledScorer:
    """A program in C, compiled with all warnings as errors."""

    def __init__(self, automaton, folder):
        write_c(automaton, folder / "scorer.c")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
        subprocess.run(
            ["gcc", *flags, "scorer.c", "-o", "scorer.so", "-lm"], cwd=folder, check=True
        )
        self.library = ctypes.CDLL(str(folder / "scorer.so"))
        self.library.seqray_score.restype = ctypes.c_double
        self.n_symbols = len(automaton.alphabet)

    def score(self, codes):
        word, log = (ctypes.c_int * len(codes))(*codes), ctypes.c_double()
        following = (ctypes.c_double * (self.n_symbols + 1))()
        weight = self.library.seqray_score(
            word, ctypes.c_size_t(len(codes)), ctypes.byref(log), following
        )
        return weight, log.value, list(following)

    def classify(self, codes, n_classes):
        state, scores = ctypes.create_string_buffer(4096), (ctypes.c_double * n_classes)()
        self.library.seqray_start(state)
        for code in codes:
            self.library.seqray_step(state, code)
        return self.library.seqray_classify(state, scores), list(scores)


@pytest.mark.parametrize("name", AUTOMATA)
def test_the_program_in_c_answers_as_the_automaton(tmp_path, name):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc here to compile C")
    automaton = AUTOMATA[name]
    scorer = CompiledScorer(automaton, tmp_path)
    codes = code_words(automaton)
    words = symbols_of(automaton, codes)
    weights, logs, following = zip(*map(scorer.score, codes), strict=True)
    check(automaton, words, np.array(weights), np.array(logs))
    assert np.isnan(scorer.score([0, scorer.n_symbols])[0])
    classes = getattr(automaton, "classes", ())
    if classes:
        decisions, scores = zip(
            *(scorer.classify(each, len(classes)) for each in codes), strict=True
        )
        assert np.array(scores) == pytest.approx(automaton.scores(words), abs=1e-12)
        names = [classes[each] for each in decisions]
        assert names == getattr(automaton, "decide" if name == "DFA" else "classify")(words)
    elif automaton.is_distribution:
        assert np.array(following) == pytest.approx(automaton.next_symbol(words), abs=1e-12)
    else:
        assert scorer.library.seqray_next(None, None) == -1


def test_symbols_of_any_text_are_written_as_they_are(tmp_path):
    n = len(ODD_SYMBOLS)
    automaton = WeightedAutomaton(ODD_SYMBOLS, [1], np.full((n, 1, 1), 0.5 / n), [0.5])
    if shutil.which("gcc"):
        library = CompiledScorer(automaton, tmp_path).library
        names = (ctypes.c_char_p * n).in_dll(library, "seqray_symbols")
        assert [each.decode() for each in names] == ODD_SYMBOLS
    if shutil.which("node"):
        write_js(automaton, tmp_path / "scorer.js")
        assert in_node(tmp_path, "scorer.symbols") == ODD_SYMBOLS
    assert "@TABLES@" not in to_c(automaton) + to_js(automaton)


def test_numbers_fill_lines_of_readable_length():
    automaton = WeightedAutomaton(range(9), [1], np.full((9, 1, 1), 0.1 + 0.2), [1])
    for text in (to_c(automaton), to_js(automaton)):
        assert max(map(len, text.splitlines())) <= 110
        assert text.count("0.30000000000000004") == 9


# The page docs/interchange.md ---------------------------------------------------------------------


@pytest.fixture
def page(tmp_path):
    """The blocks of the page by their language, in a folder with the automaton that they use."""
    wa = deterministic_pfa("ab", [[0, 1], [1, 0]], [[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])
    write_c(wa, tmp_path / "wa.c")
    write_js(wa, tmp_path / "wa.js")
    text = (ROOT / "docs" / "interchange.md").read_text("utf-8")
    return {block.language: block.text for block in blocks(text)}


def test_the_c_of_the_docs_compiles_and_prints_the_weight(tmp_path, page):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc here to compile C")
    (tmp_path / "main.c").write_text(page["c"])
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["0.0625", "-2.77259", "0.5"]


def test_the_javascript_of_the_docs_runs(tmp_path, page):
    if shutil.which("node") is None:
        pytest.skip("there is no node here to run JavaScript")
    (tmp_path / "main.js").write_text(page["js"])
    printed = subprocess.run(
        ["node", "main.js"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == ["0.0625", "-2.7726", "0.5", "0.125"]
