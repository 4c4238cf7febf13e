"""The language models of the TAYSIR 2023 competition, extracted, against its winner's figures.

    python benchmarks/taysir.py --data DIR [--models 2.1,2.2,2.4] [--seed 0]
                                [--objective weights]

`seqray.extract` with its defaults, at most 100 states, the rank chosen on words drawn from the
model, by next symbols or by another objective. Only then are the competition's words read,
`valid.words`. `mse` is its metric, the mean squared error of a word's probability, times 10⁶;
`winner` and `zero` are what its winner reached and what an answer of 0 to every word gets (TAYSIR
2023, second track); empty words are left out, as the published figures of the latter show that the
competition did. Where words are long, as in model 2.4, probabilities are so small that this says
nothing: `log_error` is the mean difference of their natural logarithms, over the words to which the
automaton gives a positive weight, and `zeros` the share of the others. `bits_lost` is the
divergence per symbol on these words, of `bits` that a symbol of the model has.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from common import learning_steps, report

import seqray

WINNER = {"2.1": 1.04e-4, "2.2": 1.78, "2.4": 4.07e-8}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(
        os.environ.get("SEQRAY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("--data", type=Path, default=default, help="folder that holds taysir/")
    parser.add_argument("--models", default=",".join(WINNER), help="which of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--objective", choices=["next", "weights", "log"], default="next")
    options = parser.parse_args()
    figures: dict[str, float | str] = {"seed": options.seed, "objective": options.objective}
    for model in options.models.split(","):
        folder = options.data / "taysir" / model
        if not folder.is_dir():
            parser.error(f"no {folder}: see 'What you need' in docs/results.md")
        for name, value in measure(folder, options.seed, options.objective).items():
            figures[f"{model}_{name}"] = value
            print(model, name, value, flush=True)
        figures[f"{model}_winner"] = WINNER[model]
    report([(name, str(value)) for name, value in figures.items()], figures)


def measure(folder: Path, seed: int, objective: str) -> dict[str, float]:
    box = seqray.open_black_box(f"taysir:{folder}")
    extraction = seqray.extract(box, seed=seed, objective=objective)
    automaton = extraction.best(purpose="reading")
    words = valid_words(folder, box)
    truth, guess = box.weights(words), automaton.weights(words)
    positive = guess > 0
    fidelity = seqray.compare(box, automaton, words)
    differences = np.abs(automaton.log_weights(words)[1] - box.log_weights(words))[positive]
    return {
        "states": automaton.n_states,
        "fitted": int(automaton.n_states in extraction.fitted),
        "steps": learning_steps(extraction.settings),
        "mse": float(f"{1e6 * np.mean((truth - guess) ** 2):.4g}"),
        "zero": float(f"{1e6 * np.mean(truth**2):.4g}"),
        "log_error": round(float(differences.mean()), 4),
        "zeros": round(float(np.mean(~positive)), 5),
        "bits_lost": float(f"{fidelity['kl_per_symbol']:.3g}"),
        "bits": float(f"{fidelity['entropy_per_symbol']:.3g}"),
        "ndcg5": round(fidelity["ndcg5"], 5),
    }


def valid_words(folder: Path, box: seqray.WeightedAutomaton) -> seqray.Words:
    """Read the competition's words, without their first and last symbol: the start and the end."""
    lines = (folder / "valid.words").read_text().splitlines()[1:]
    words = [tuple(map(int, line.split()[2:-1])) for line in lines]
    return box.alphabet.words([word for word in words if word])


if __name__ == "__main__":
    main()
