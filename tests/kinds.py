"""Kinds of tests that `make fast` leaves out: folders, files, or ``file::test``, under tests/."""

import sys
from importlib.abc import MetaPathFinder

BROWSER = ("explore/test_browser.py",)

FRAMEWORKS = (
    "blackbox/frameworks/test_hf.py",
    "blackbox/frameworks/test_hf_cache.py",
    "blackbox/frameworks/test_hf_card.py",
    "blackbox/frameworks/test_hf_folder.py",
    "blackbox/frameworks/test_hf_tokens.py",
    "blackbox/frameworks/test_keras.py",
    "blackbox/frameworks/test_keras_build.py",
    "blackbox/frameworks/test_onnx.py",
    "blackbox/frameworks/test_onnx_graph.py",
    "blackbox/frameworks/test_same_network.py",
    "blackbox/frameworks/test_torch.py",
    "blackbox/frameworks/test_torch_arrays.py",
    "blackbox/frameworks/test_torch_file.py",
    "blackbox/frameworks/test_torch_stack.py",
    "blackbox/remote/llm/test_backend.py",
    "blackbox/remote/llm/test_box.py",
    "blackbox/remote/llm/test_connection.py",
    "blackbox/remote/llm/test_real_server.py",
    "cli/test_train.py",
    "cli/test_train_progress.py",
    "formats/test_onnx_export.py",
    "training",
)

SLOW = {
    "automata/test_algebra_scale.py::test_relative_distances_do_not_depend_on_the_scale": (
        "solves equations at many scales"
    ),
    "automata/test_balanced.py::test_distance_between_a_hundred_states_and_fifty_is_found": (
        "solves equations for 150 states"
    ),
    "automata/test_plots.py": "draws with matplotlib",
    "benchmarks/test_distribution.py": "builds wheel and sdist",
    "automata/test_scaling.py::test_a_model_that_was_far_behind_and_came_back_counts": (
        "reads words of thousands of symbols"
    ),
    "blackbox/remote/test_child.py": "starts processes, and waits until they count as hanging",
    "blackbox/remote/test_cmd.py": "starts a process for each test",
    "blackbox/remote/test_http.py": "talks to live servers",
    "blackbox/remote/test_http_request.py": "waits for live servers",
    "blackbox/remote/test_kill.py": "kills a process again and again, at any moment",
    "blackbox/test_contract.py": "tries every promise on every kind of box",
    "cli/test_bench.py": "runs sweeps in processes and interrupts them",
    "cli/test_boxes.py": "runs commands as processes and interrupts them",
    "cli/test_demo.py": "runs the whole demo",
    "cli/test_explore.py": "makes whole pages, starts servers",
    "cli/test_extract.py": "whole extractions by command",
    "cli/test_report.py": "makes a page of results with figures",
    "cli/test_terminal.py": "runs commands as processes",
    "draw/test_canvas.py": "draws with matplotlib",
    "draw/test_drawings.py": "draws many automata and looks at every pair of shapes",
    "examples/test_notebooks.py": "executes whole notebooks",
    "test_sklearn.py": "runs all checks of scikit-learn",
    "experiments/test_boxes.py": "runs a sweep",
    "formats/test_fst.py::test_the_commands_of_the_docs_run": "runs commands as processes",
    "learning/test_dfa.py::test_trained_networks_come_back_as_the_minimal_dfa_of_their_language": (
        "trains a network"
    ),
    "experiments/test_catalogue.py": "reads large data sets",
    "experiments/test_cells.py": "extracts automata of every rank from generated problems",
    "experiments/test_distillation.py": "runs a sweep",
    "experiments/test_figures.py": "draws figures with matplotlib",
    "experiments/test_own_figures.py": "draws figures with matplotlib",
    "experiments/test_plots.py": "draws figures with matplotlib",
    "experiments/test_report.py": "makes pages of results with figures",
    "experiments/test_report_gaps.py::test_a_whole_table_has_no_holes": (
        "makes up results of all problems, bases and ranks"
    ),
    "experiments/test_statements.py": "makes up results of all problems, bases and ranks",
    "experiments/test_sweep.py": "runs sweeps in processes and kills them",
    "explain/difference/test_diff.py::test_boxes_are_compared_as_the_automata_in_them": (
        "extracts from two boxes, twice"
    ),
    "explain/test_plots.py": "draws with matplotlib",
    "explore/test_page.py::test_a_hundred_states_and_twenty_symbols_fit_with_all_ranks": (
        "packs a hundred automata"
    ),
    "explore/test_page.py::test_larger_alphabets_get_as_many_ranks_as_fit": (
        "packs large automata"
    ),
    "explore/test_page.py::test_what_is_least_useful_is_left_out_and_the_page_says_so": (
        "packs large automata"
    ),
    "explore/test_page.py::test_where_the_best_rank_is_too_large_a_smaller_one_is_shown_first": (
        "packs large automata"
    ),
    "explore/test_serve.py": "talks to live servers",
    "extraction/conditional/test_counterexamples.py": "searches for rare behaviour, many rounds",
    "extraction/conditional/test_learner.py": "fits automata, round after round",
    "extraction/conditional/test_method.py": "fits automata to what a box predicts",
    "extraction/hankel/test_growing_blocks.py": "grows blocks on boxes of every kind",
    "extraction/hankel/test_growth.py": "grows bases on boxes of every kind",
    "extraction/test_extract.py": "whole extractions by every method",
    "extraction/test_limits.py": "whole extractions under each limit",
    "extraction/test_run_folder.py": "kills and races writers of run folders",
    "extraction/test_plots.py": "draws with matplotlib",
    "fidelity/test_leaking.py": "whole extractions from boxes that leak",
    "notebook/test_shown.py": "shows values of every kind",
    "parallel/test_dask_cluster.py": "starts Dask clusters, kills workers, and interrupts",
    "reliability/test_campaigns.py": "runs each campaign for some seconds",
    "published/test_pautomac.py": "repeats published figures on all 48 problems",
    "util/test_plots.py": "draws with matplotlib",
    "extraction/conditional/test_every_symbol.py": "learns automata of thousands of symbols",
    "extraction/conditional/test_copying.py": "fits copies",
    "extraction/conditional/test_rank_table.py": "fits automata",
    "extraction/conditional/test_spectral_copy.py": "whole extractions",
    "extraction/classes/test_default_cost.py": "whole extractions",
    "extraction/classes/test_method.py": "whole extractions from classifiers",
    "extraction/hankel/test_memory_plan.py": "fills large blocks within little memory",
    "extraction/test_data_fit.py": "fits automata to words",
    "extraction/test_restricted_copies.py": "whole extractions under a guide",
    "learning/test_determinise.py": "learns from automata until nothing differs",
    "learning/test_growth.py": "learns automata of very many states",
    "parallel/test_cores.py": "starts processes, and stops them",
    "parallel/test_process_pool.py": "starts processes, and stops them",
    "blackbox/native/test_python.py": "starts processes",
    "formats/test_scorer.py": "compiles and runs programs",
    "benchmarks/test_peers.py": "draws with matplotlib",
    "cli/test_evaluate.py": "runs whole commands",
    "cli/test_explain.py": "runs whole commands",
    "cli/test_learn.py": "runs whole commands",
    "cli/test_words.py": "runs whole commands",
    "cli/test_decisions.py": "runs whole commands",
    "cli/test_diff.py": "runs whole commands",
    "cli/test_draw.py": "draws with matplotlib",
    "cli/test_store.py": "runs whole commands",
    "draw/test_saving.py": "draws with matplotlib",
    "explain/difference/test_diff.py": "whole comparisons",
    "explore/test_difference_page.py": "makes whole pages",
    "explore/test_ranks.py": "makes whole pages",
    "extraction/hankel/test_fill.py": "fills blocks of every kind",
    "notebook/test_drawing.py": "draws with matplotlib",
}

COMPUTING = (
    "automata/",
    "draw/",
    "extraction/",
    "fidelity/",
    "learning/",
    "published/",
    "reliability/",
)
"""Where slow tests compute for long: the same lines again and again, which coverage slows most."""

MEASURED = (
    "draw/test_saving.py",
    "extraction/classes/",
    "extraction/conditional/test_copying.py",
    "extraction/conditional/test_every_symbol.py",
    "extraction/conditional/test_rank_table.py",
    "extraction/conditional/test_spectral_copy.py",
    "extraction/hankel/test_fill.py",
    "extraction/hankel/test_memory_plan.py",
    "extraction/test_data_fit.py",
    "extraction/test_extract.py",
    "extraction/test_restricted_copies.py",
    "learning/test_determinise.py",
    "learning/test_growth.py",
)
"""Slow tests among them that alone run lines of their modules."""

RUN_ELSEWHERE = (
    "blackbox/test_contract.py",
    "examples/",
    "experiments/test_report.py::test_every_number_of_the_summary_is_computed",
    "experiments/test_report.py::test_the_published_page_is_what_the_published_results_say",
    "test_docs_code.py",
    "test_docs_commands.py",
    "test_security.py",
    "test_structure.py",
    "test_vocabulary.py",
)
"""Tests of every box, of whole pages and of the source: the tests of modules run the lines."""


def is_measured(test: str) -> bool:
    """Return whether coverage counts the lines that a test runs; other tests run them, too."""
    mark = mark_of(test)
    if test.startswith(MEASURED) or mark is None or mark[0] != "slow":
        return not test.startswith(RUN_ELSEWHERE)
    return not test.startswith((*COMPUTING, *RUN_ELSEWHERE))


def mark_of(test: str) -> tuple[str, str] | None:
    """Return the mark of a test, ``file::name``, and the reason for it; None for a fast one."""
    file = test.split("::", maxsplit=1)[0]
    for mark, paths in (("browser", BROWSER), ("frameworks", FRAMEWORKS)):
        if any(file == each or file.startswith(f"{each}/") for each in paths):
            return mark, "needs what is installed for it"
    reason = SLOW.get(test) or SLOW.get(file)
    return ("slow", reason) if reason else None


def left_out_of_fast() -> list[str]:
    """Return the files and folders that `make fast` does not even import."""
    return [each for each in (*BROWSER, *FRAMEWORKS, *SLOW) if "::" not in each]


class NoFrameworks(MetaPathFinder):
    """Hides the frameworks: a test that tries one is skipped, and nothing waits for its import."""

    NAMES = frozenset(
        ("torch", "keras", "tensorflow", "jax", "onnx", "onnxruntime", "transformers", "playwright")
    )

    def find_spec(self, name, path=None, target=None):
        if name in self.NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}: hidden by --fast", name=name)

    def install(self) -> None:
        sys.meta_path.insert(0, self)
