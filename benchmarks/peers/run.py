"""Seqray beside other tools: the same boxes, the same words, the same number of queries.

    python benchmarks/peers/run.py [--boxes NAME …] [--peers NAME …] [--budgets N …]

Each fit runs in a process of its own, in the environment of its peer. The environments are made on
the first run, in the folder that --environments names. A row is saved as soon as it is measured,
and rows that are there are not made again: it can be interrupted, and goes on where it was.
`python benchmarks/peers/report.py` makes the table and the figure of the rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from boxes import BENCHMARKS, BOXES, PDFA, drawn_words, opened, test_words
from deciders import LANGUAGES, decider_rows
from environments import OWN, default_folder, python_of
from job import MODEL_FILE, OUTCOME_FILE, Drawn
from models import measured, models_of
from rows import RESULTS, SavedRows

import seqray
from seqray.fidelity.reference import Reference

BUDGETS = (20_000,)
LIMIT_SECONDS, OWN_LIMIT_SECONDS = 20, 3600
"""The most processor time of one fit of a peer, and of seqray."""

SEQRAY = "seqray"
EQUAL_SHARE = 0.97
"""A peer that used a smaller share of its budget than this is compared at what it used."""


class Fit(NamedTuple):
    """A peer with one setting: the environment and the module of `fits/` that it runs in."""

    peer: str
    setting: str
    environment: str
    module: str
    settings: dict[str, Any]
    is_active: bool = False


def spectral(version: str) -> Fit:
    settings = {"version": version, "ranks": [2, 5, 10, 20, 40], "length": 4}
    return Fit("scikit-splearn", version, "splearn", "splearn_spectral", settings)


def hidden_markov(package: str, states: int) -> Fit:
    return Fit(package, f"{states} states", package, f"hmm_{package}", {"states": states})


def lstar(peer: str, environment: str, module: str, tolerance: float) -> Fit:
    settings = {"tolerance": tolerance}
    return Fit(peer, f"tolerance {tolerance}", environment, module, settings, True)


FITS = [
    *(Fit("Kneser-Ney", f"order {n}", OWN, "kneser_ney", {"order": n}) for n in (2, 3, 4, 5)),
    *(Fit("GRU", f"{n} units", OWN, "distilled_gru", {"units": n}) for n in (32, 128)),
    *(lstar("weighted L*", OWN, "weighted_lstar", tolerance) for tolerance in (0.1, 0.02)),
    Fit("the paper's method", "uniform basis", OWN, "seqray_extract", {"method": "paper"}, True),
    *(
        Fit("AALpy Alergia", f"eps {eps}", "aalpy", "alergia_aalpy", {"eps": eps})
        for eps in ("auto", 0.05, 0.5)
    ),
    *(spectral(version) for version in ("classic", "prefix", "factor")),
    lstar("pymodelextractor", "pymodelextractor", "wlstar_pymodelextractor", 0.1),
    *(hidden_markov(package, n) for package in ("hmmlearn", "pomegranate") for n in (10, 40)),
]
"""All peers with their settings, quick ones first."""

EXTRACT = Fit(SEQRAY, "extract", OWN, "seqray_extract", {"method": "auto"}, True)
LEARN_PDFA = Fit(SEQRAY, "learn_pdfa", OWN, "seqray_extract", {"method": "learn_pdfa"}, True)
PEERS = [*dict.fromkeys(fit.peer for fit in FITS)]


@cache
def words_of(box: str, budget: int) -> tuple[Drawn, Reference]:
    return drawn_words(opened(box), budget)


@cache
def test_of(box: str) -> Reference:
    return test_words(opened(box))


class Runner:
    """Makes the rows that are not there yet."""

    def __init__(self, saved: SavedRows, environments: Path) -> None:
        self.saved, self.environments = saved, environments

    def row(self, fit: Fit, box: str, budget: int, limit: float = LIMIT_SECONDS) -> dict[str, str]:
        """Return the row of a fit to a box with a budget, made if it is not there."""
        key = {"box": box, "peer": fit.peer, "setting": fit.setting, "budget": budget}
        return self.saved.made(key, lambda: self.measured(fit, box, budget, limit))

    def measured(self, fit: Fit, box: str, budget: int, limit: float) -> dict[str, Any]:
        """Fit, and measure what came of it."""
        drawn, validation = words_of(box, budget)
        settings = fit.settings | ({"box": box, "budget": budget} if fit.is_active else {})
        row, model, outcome = self.fitted(fit.environment, fit.module, settings, drawn, limit)
        if not fit.is_active:
            row |= {"queries": len(drawn.rows), "words": len(drawn.words)}
        if fit.peer == SEQRAY:
            row |= {"seqray_version": seqray.__version__}
        return row | (fidelity(fit, model, outcome, test_of(box), validation) if model else {})

    def fitted(
        self,
        environment: str,
        module: str,
        settings: dict[str, Any],
        drawn: Drawn,
        limit: float = LIMIT_SECONDS,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Fit in a process of its own; return columns of a row, the model, and what was said."""
        row: dict[str, Any] = {"limit": f"{limit:.0f}"}
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            drawn.save(place)
            job = {"module": module, "settings": settings, "limit": limit}
            (place / "job.json").write_text(json.dumps(job))
            if remark := self.failure(environment, place):
                return row | {"remark": remark}, {}, {}
            outcome = json.loads((place / OUTCOME_FILE).read_text())
            with np.load(place / MODEL_FILE) as arrays:
                model = dict(arrays)
        row |= {
            "queries": outcome.get("queries", ""),
            "seconds": f"{outcome['seconds']:.2f}",
            "megabytes": f"{outcome['megabytes']:.0f}",
            "is_limited": int(outcome["limited"]),
            "remark": outcome.get("remark", ""),
        }
        return row, model, outcome

    def failure(self, environment: str, folder: Path) -> str:
        """Run a fit; return what went wrong, if anything did."""
        here = Path(__file__).resolve().parent
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        variables = os.environ | dict.fromkeys(threads, "1")
        variables["PYTHONPATH"] = os.pathsep.join([str(here), str(BENCHMARKS.parent / "src")])
        command = [python_of(environment, self.environments), str(here / "child.py"), str(folder)]
        done = subprocess.run(command, env=variables, stderr=subprocess.PIPE, check=False)
        message = done.stderr.decode()
        at_limit = (-signal.SIGKILL, -signal.SIGXCPU)
        if done.returncode in at_limit or "LimitReachedError" in message:
            return "no result within the limit"
        if done.returncode < 0:
            raise SystemExit("Interrupted. All rows so far are saved; run the command again.")
        if done.returncode:
            print(message, file=sys.stderr)
            return message.strip().splitlines()[-1][:200]
        return ""


def fidelity(
    fit: Fit, model: dict[str, Any], outcome: dict[str, Any], test: Reference, held: Reference
) -> dict[str, Any]:
    """Return the columns of a row that say how near a model is, and how large."""
    models = models_of(model, test.tree.alphabet)
    result = measured(models, test, held, as_it_is=fit.peer == SEQRAY)
    return {
        "bits_per_symbol": f"{result.bits:.3g}",
        "ndcg5": f"{result.ndcg5:.5f}",
        "uniform_share": f"{result.uniform_share:g}",
        "states": result.model.n_states,
        "numbers": outcome.get("numbers", result.model.n_numbers),
    }


def own_rows(runner: Runner, box: str, budget: int) -> list[dict[str, str]]:
    """Return seqray's rows, which have a limit of queries alone."""
    fits = [EXTRACT, LEARN_PDFA] if box == PDFA else [EXTRACT]
    return [runner.row(fit, box, budget, OWN_LIMIT_SECONDS) for fit in fits]


def make_row(runner: Runner, fit: Fit, box: str, budget: int) -> None:
    """Make the row of a peer, and seqray's with as many queries."""
    own = own_rows(runner, box, budget)
    limit = float(own[0]["seconds"]) if fit.peer == "GRU" else LIMIT_SECONDS
    used = runner.row(fit, box, budget, limit)["queries"]
    if fit.is_active and used and int(used) < EQUAL_SHARE * budget:
        own_rows(runner, box, int(used))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*BOXES, *LANGUAGES]
    parser.add_argument("--boxes", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, metavar="NAME")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS), metavar="N")
    parser.add_argument(
        "--environments",
        type=Path,
        default=default_folder(),
        help="folder for the peers' environments (default: %(default)s)",
    )
    parser.add_argument(
        "--save", type=Path, default=RESULTS, help="the table (default: %(default)s)"
    )
    options = parser.parse_args()
    runner = Runner(SavedRows(options.save), options.environments)
    for box in options.boxes:
        if box in LANGUAGES:
            decider_rows(runner, box)
    fits = [fit for fit in FITS if fit.peer in options.peers]
    boxes = [box for box in options.boxes if box in BOXES]
    for budget, fit, box in itertools.product(options.budgets, fits, boxes):
        make_row(runner, fit, box, budget)


if __name__ == "__main__":
    main()
