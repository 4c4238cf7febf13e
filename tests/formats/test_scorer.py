"""Automata as programs in C and JavaScript, compiled and run."""

import ctypes
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from docs.run_page import blocks
from scorer_cases import AUTOMATA, code_words, symbols_of
from seqray import DeterministicAutomaton, WeightedAutomaton, deterministic_pfa
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
    if not automaton.is_distribution:
        assert scorer.library.seqray_next(None, None) == -1
        assert np.isnan(following).all()


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


@pytest.mark.parametrize("name", ["probabilistic", "DFA"])
def test_names_of_the_c_file_do_not_meet_those_of_a_file_that_includes_it(name):
    text = to_c(AUTOMATA[name]).partition("*/")[2]
    defined = re.findall(r"^(?:#define |[a-z].*?)(\w+)(?:\[\]| \S+$|\()", text, re.MULTILINE)
    assert {"SEQRAY_START", "SEQRAY_VALUES", "seqray_symbols", "seqray_rescale"} <= {*defined}
    assert all(each.startswith(("SEQRAY_", "seqray_")) for each in defined if each != "struct")


@pytest.mark.parametrize("name", ["probabilistic", "DFA"])
def test_the_comment_of_a_file_shows_how_to_use_it(tmp_path, name):
    automaton = AUTOMATA[name]
    codes = symbols_of(automaton, [[0, 1]])
    is_classifier = name == "DFA"
    expected = automaton.decide(codes)[0] if is_classifier else f"{automaton.weights(codes)[0]:.6g}"
    if shutil.which("gcc"):
        write_c(automaton, tmp_path / "wa.c")
        use = "".join(re.findall(r"^ {5}.*\n", to_c(automaton).partition("*/")[0], re.MULTILINE))
        printed = '"%s", decision' if is_classifier else '"%.6g", weight'
        main = f'#include <stdio.h>\n#include "wa.c"\nint main(void) {{{use} printf({printed}); }}'
        assert compiled_and_run(tmp_path, main) == expected
    if shutil.which("node"):
        write_js(automaton, tmp_path / "scorer.js")
        use = "".join(re.findall(r"^ {5}.*\n", to_js(automaton).partition("*/")[0], re.MULTILINE))
        said = "classes[decision]" if is_classifier else "score([0, 1]).weight.toPrecision(6)"
        script = f'{use}; const {{ classes }} = require("./scorer.js"); console.log({said})'
        done = run_in_node(tmp_path, script)
        assert done == expected if is_classifier else float(done) == float(expected)


# The page docs/interchange.md ---------------------------------------------------------------------


@pytest.fixture
def page(tmp_path):
    """The blocks of the page by their language, in a folder with the automata that they use."""
    wa = deterministic_pfa("ab", [[0, 1], [1, 0]], [[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])
    parity = DeterministicAutomaton("ab", [[1, 0], [0, 1]], [1, 0])
    for name, automaton in (("wa", wa), ("classifier", parity)):
        write_c(automaton, tmp_path / f"{name}.c")
        write_js(automaton, tmp_path / f"{name}.js")
    text = (ROOT / "docs" / "interchange.md").read_text("utf-8")
    found = blocks(text)
    return {kind: [each.text for each in found if each.language == kind] for kind in ("c", "js")}


def compiled_and_run(folder, main):
    (folder / "main.c").write_text(main)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "main.c", "-o", "main", "-lm"], cwd=folder, check=True)
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout


def run_in_node(folder, script):
    (folder / "main.js").write_text(script)
    done = subprocess.run(
        ["node", "main.js"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_c_of_the_docs_compiles_and_prints_the_weight_and_the_class(tmp_path, page):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc here to compile C")
    weight, classifier = (compiled_and_run(tmp_path, main) for main in page["c"])
    assert weight.split() == ["0.0625", "-2.77259", "0.5"]
    assert classifier.split() == ["no", "1"]


def test_the_javascript_of_the_docs_runs(tmp_path, page):
    if shutil.which("node") is None:
        pytest.skip("there is no node here to run JavaScript")
    weight, classifier = (run_in_node(tmp_path, script) for script in page["js"])
    assert weight.split() == ["0.0625", "-2.7726", "0.5", "0.125"]
    assert classifier.split() == ["no", "1"]
