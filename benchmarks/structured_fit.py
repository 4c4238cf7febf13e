"""The fit of a structured automaton against the same model in PyTorch on padded batches.

``python benchmarks/structured_fit.py`` prints a short table, and last one line of JSON. Both sides
fit an automaton to what the network of SPiCe 4 predicts along the same 20,000 words, with one
thread. The peer has 24 states after each of 33 symbols. It reads padded batches of 256 words, its
first guess is the bigrams of the words with noise, and Adam moves it for 12 epochs. Ours has the
same groups, one for each last symbol, and up to as many states. Each side is timed from the words
to its divergence on 2,000 other words, in processor time; that of ours counts until it is as near
as the peer has come.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from common import one_thread, report

from seqray.blackbox.registry import open_black_box
from seqray.extraction.settings import StructuredSettings
from seqray.extraction.structured.family import NO_POSITIONS, Structure, layout_for
from seqray.extraction.structured.fit import FitWords, fit_structured
from seqray.fidelity.reference import Reference

BOX = Path(__file__).parent / "blackboxes" / "spice4.safetensors"
N_WORDS, N_VALIDATION, STATES, EPOCHS, BATCH, RATE = 20_000, 2000, 24, 12, 256, 0.05


class Peer:
    """States that know the last symbol, as one table of logarithms in PyTorch."""

    def __init__(self, words: FitWords, n_symbols: int) -> None:
        torch.manual_seed(0)
        self.k = n_symbols
        bigrams = np.log(_bigrams(words, n_symbols))
        table = 0.5 * torch.randn(n_symbols + 1, STATES, n_symbols * STATES + 1)
        spread = np.repeat(bigrams[:, :-1], STATES, axis=1) - np.log(STATES)
        start = np.concatenate([spread, bigrams[:, -1:]], axis=1)[:, None]
        self.table = torch.nn.Parameter(table + torch.tensor(start, dtype=torch.float32))

    def loss(self, symbols, rows, lengths):
        """Return the summed cross-entropy of padded words, and how many prefixes they have."""
        k = self.k
        all_of_it = torch.softmax(self.table, -1)
        moves = all_of_it[..., :-1].reshape(k + 1, STATES, k, STATES)
        emission = torch.cat([moves.sum(-1), all_of_it[..., -1:]], -1)
        state = torch.zeros(len(lengths), STATES)
        state[:, 0] = 1
        last = torch.full((len(lengths),), k)
        total = 0.0
        for at in range(int(lengths.max()) + 1):
            inside = (lengths >= at).float()
            read = torch.bmm(state[:, None], emission[last])[:, 0]
            each = (rows[:, at] * torch.log(read + 1e-12)).sum(-1)
            total = total - (each * inside).sum()
            if at == symbols.shape[1]:
                break
            symbol = symbols[:, at]
            state = torch.bmm(state[:, None], moves[last, :, symbol])[:, 0]
            state = state / (state.sum(1, keepdim=True) + 1e-30)
            last = symbol
        return total, int((lengths + 1).sum())

    def fit(self, words: FitWords) -> None:
        """Move the table against the gradient."""
        symbols, rows, lengths = self.padded(words)
        n_steps = EPOCHS * -(-len(lengths) // BATCH)
        adam = torch.optim.Adam([self.table], lr=RATE)
        rates = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, n_steps, pct_start=0.1)
        for _ in range(EPOCHS):
            for some in torch.randperm(len(lengths)).split(BATCH):
                longest = int(lengths[some].max())
                part = symbols[some, :longest], rows[some, : longest + 1], lengths[some]
                loss, n = self.loss(*part)
                adam.zero_grad()
                (loss / n).backward()
                adam.step()
                rates.step()

    def padded(self, words: FitWords):
        """Return symbols, what comes next and lengths of all words, padded."""
        plain = words.reference.words
        lengths, longest = plain.lengths, int(plain.lengths.max())
        symbols = np.zeros((len(lengths), longest), np.int64)
        rows = np.zeros((len(lengths), longest + 1, self.k + 1), np.float32)
        tree, node = words.followed.tree, words.followed.tree.node_of_word.copy()
        for at in range(longest, -1, -1):
            here = np.flatnonzero(lengths >= at)
            rows[here, at] = words.followed.rows[node[here]]
            if at:
                symbols[here, at - 1] = tree.symbol[node[here]]
                node[here] = tree.parent[node[here]]
        return torch.tensor(symbols), torch.tensor(rows), torch.tensor(lengths)

    def divergence(self, words: FitWords) -> float:
        """Return the mean divergence on some words, in bits per symbol."""
        with torch.no_grad():
            loss, n = self.loss(*self.padded(words))
        return float(loss) / n / np.log(2) - words.entropy


def _bigrams(words: FitWords, n_symbols: int) -> np.ndarray:
    """Return what comes next after each symbol, and last at the beginning."""
    tree = words.followed.tree
    last = tree.symbol.astype(np.int64)
    last[0] = n_symbols
    flow = words.followed.flow(last, n_symbols + 1) + 0.1
    return flow / flow.sum(axis=1, keepdims=True)


def main() -> None:
    torch.set_num_threads(1)
    with one_thread():
        measure()


def measure() -> None:
    box = open_black_box(f"rnn:{BOX}")
    words, validation = (
        FitWords(Reference.draw(box, n, seed=seed, max_length=100), leaks=False)
        for n, seed in ((N_WORDS, 0), (N_VALIDATION, 1))
    )
    words.followed, validation.followed, words.corpus, validation.entropy  # noqa: B018
    begin = time.process_time()
    peer = Peer(words, len(box.alphabet))
    peer.fit(words)
    peer_seconds = time.process_time() - begin
    theirs = peer.divergence(validation)
    settings = StructuredSettings()
    begin = time.process_time()
    times: list[tuple[float, float]] = []
    measured = validation.divergence
    object.__setattr__(
        validation,
        "divergence",
        lambda *fit: times.append((time.process_time() - begin, measured(*fit))) or times[-1][1],
    )
    layout = layout_for(Structure(1, NO_POSITIONS), words, STATES, settings)
    ours = fit_structured(layout, words, validation, seed=0, settings=settings)
    reached = next((seconds for seconds, bits in times if bits <= theirs), float("nan"))
    ratio = peer_seconds / reached
    report(
        [
            ("PyTorch, 24 states after each symbol", f"{theirs:.4f} bits, {peer_seconds:.1f} s"),
            ("ours", f"{ours.divergence:.4f} bits, {times[-1][0]:.1f} s"),
            ("as near as PyTorch", f"{reached:.1f} s, {ratio:.1f} × faster"),
        ],
        {
            "peer": {"bits": theirs, "seconds": peer_seconds},
            "ours": {"bits": ours.divergence, "seconds": times[-1][0]},
            "seconds_as_near": reached,
            "ratio": ratio,
        },
    )


if __name__ == "__main__":
    main()
