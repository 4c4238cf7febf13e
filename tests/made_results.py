"""A folder of results as a sweep leaves it, made up: in form like the real ones, not in value."""

import json

import numpy as np

from seqray.experiments import paper
from seqray.experiments.boxes import BoxRow, write_boxes
from seqray.experiments.distillation import Distilled
from seqray.experiments.findings import SUITES
from seqray.experiments.table import AUTO, PAPER, Result, write_results

SIZES = (300, 800, 1400)
RANKS = (1, 2, 5, 10, 20, 40, 70, 100)
N_ROUNDS = 4


def rows(problem, *, sizes=SIZES, ranks=RANKS, seed=0):
    """Return the rows of one problem: better with rank and basis, with noise."""
    rng = _rng(problem, seed)
    top = _published(problem)
    made = []
    for size in sizes:
        for which in ("test", "rnn"):
            level = top - 60 / size * (1 - top)
            curve = [_row(problem, size, rank, which, level, rng) for rank in ranks]
            made += _selected(curve, len(curve) // 2)
    return made


def own_rows(problem, *, ranks=RANKS, seed=0, **_):
    """Return the rows of seqray's own method: better than the paper's by most of what lacks."""
    rng = _rng(problem, seed + 1)
    level = _level(problem)
    made = []
    for which in ("test", "rnn"):
        curve = [_row(problem, 1500, rank, which, level, rng) for rank in ranks]
        place = {"method": AUTO, "prefixes": 1490, "suffixes": 250}
        place["steps"] = rounds(problem)[-1]["questions"]
        made += _selected([row._replace(**place, zeros=0.0) for row in curve], len(curve) - 2)
    return made


def rounds(problem):
    """Return what seqray's own method reached with how many questions."""
    rng = _rng(problem, 7)
    first, level = rng.uniform(2_000, 12_000), _level(problem)
    start = level - rng.uniform(0.1, 1) * (1 - _published(problem)) - 0.02
    return [
        {
            "questions": int(first * (4 ** (at + 1) - 1) / 3),
            "words": int(20_000 / 4 ** (N_ROUNDS - 1 - at)),
            "contexts": int(1500 / 4 ** (N_ROUNDS - 1 - at)),
            "ndcg5": float(level - (level - start) * 3.0**-at + 0.002 * rng.normal()),
        }
        for at in range(N_ROUNDS)
    ]


def _rng(problem, seed):
    return np.random.default_rng([seed, sum(map(ord, problem))])


def _published(problem):
    theirs = paper.published("test").get(problem)
    return theirs.ndcg5 if theirs else 0.9


def _level(problem):
    return 1 - 0.1 * (1 - _published(problem)) - 0.002


def _selected(curve, fair):
    """Return a curve, and once more the rows that are chosen, one of them in fairness."""
    made = list(curve)
    for selection, metric in (("best-ndcg", "ndcg5"), ("best-ratio", "perplexity_ratio")):
        best = max(curve, key=lambda row, metric=metric: getattr(row, metric))
        made.append(best._replace(selection=selection))
    return [*made, curve[fair]._replace(selection="held-out")]


def _row(problem, size, rank, which, level, rng):
    gap = np.exp(-rank / 12)
    kl = max(1e-5, 1.5 * gap + 0.05 * (1 - level) * rng.uniform(0.2, 1))
    lucky = 0.004 * (which == "test") * rng.normal()
    return Result(
        *(problem, PAPER, size, size, rank, which, "all"),
        ndcg1=float(np.clip(level - 0.02 - 0.4 * gap + 0.01 * rng.normal(), 0, 1)),
        ndcg5=float(np.clip(level - 0.3 * gap + 0.006 * rng.normal(), 0, 1)),
        perplexity_ratio=float(2**-kl + lucky),
        kl=kl,
        wer=float(np.clip(0.6 + 0.2 * gap + 0.01 * rng.normal(), 0, 1)),
        zeros=float(np.clip((1 - level) * (1 - gap) + 0.02 * rng.normal(), 0, 1)),
        steps=size * size * (4 + sum(map(ord, problem)) % 17),
        seconds=0.5,
    )


def box(problem):
    rng = np.random.default_rng(sum(map(ord, problem)))
    quality = float(rng.uniform(0.88, 0.999)) if problem.isdecimal() else np.nan
    return BoxRow(
        problem,
        symbols=8,
        box="RecurrentLanguageModel(…)",
        parameters=30_000,
        perplexity_target=30.0,
        perplexity_box=30.0 / quality,
        quality=quality,
        ndcg5=0.97,
        wer_box_test=0.58,
        wer_box_rnn=0.57,
        perplexity_rnn=1.25 if problem == "trucks" else 40.0,
    )


def write(folder, suites=SUITES, *, holes=None, methods=(PAPER, AUTO), **how):
    """Write a folder of results; ``suites`` says which problems each table has."""
    makers = [{PAPER: rows, AUTO: own_rows}[method] for method in methods]
    for suite, problems in suites.items():
        results = [row for make in makers for problem in problems for row in make(problem, **how)]
        write_results(results, folder / f"{suite}.csv.gz")
        write_boxes([box(problem) for problem in problems], folder / f"{suite}-boxes.csv")
        spent = {"fill": 60.0, "svd": 20.0}
        if AUTO in methods:
            spent |= {"auto_references": 10.0, "auto_extract": 30.0}
        about = {
            **{"format": "seqray.results", "version": 1, "settings": {"n_rnn": 2000, "seed": 0}},
            **{"holes": holes or {}, "failed": {}, "notes": {}, "processor": "abacus"},
            **{"seconds": dict.fromkeys(problems, spent)},
            **{"seqray": "0.1.0", "python": "3.11.0", "numpy": "2.0.0", "blas": ["none 1"]},
            **{"rounds": {p: rounds(p) for p in problems if AUTO in methods}},
        }
        (folder / f"{suite}.json").write_text(json.dumps(about), "utf-8")
        lines = [",".join(Distilled._fields)]
        for problem in problems[:3]:
            for rank in (5, 20):
                times = "1e-05,1e-06,0.002,0.0001,240000,4000,9000000,500000"
                lines.append(f"{problem},paper,300,{rank},0.95,{times}")
        (folder / f"{suite}-distilled.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


SOME = {"pautomac": ("3", "9", "22", "24", "37", "39"), "spice": ("spice4",), "trucks": ("trucks",)}
"""Some problems of each suite."""


def cells(table):
    """Return the cells of a table in Markdown, line by line."""
    return [line.strip("| ").split(" | ") for line in table.splitlines()]
