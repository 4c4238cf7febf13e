"""Small recurrent networks that decide a regular language, trained in seconds."""

import numpy as np
import pytest

import seqray
from deterministic_cases import TOMITA, decider

torch = pytest.importorskip("torch")

MAX_STEPS, BATCH_SIZE, WORD_LENGTH, HIDDEN = 4000, 64, 30, 24


def depth_limited(pairs, max_depth):
    """Return a function that says whether brackets are closed and nowhere too deep."""
    opening, closing = {a for a, _ in pairs}, {b: a for a, b in pairs}

    def accepts(word):
        stack = []
        for sign in word:
            if sign in opening:
                stack.append(sign)
            elif sign in closing and (not stack or stack.pop() != closing[sign]):
                return False
            if len(stack) > max_depth:
                return False
        return not stack

    return accepts


LANGUAGES = {
    **{f"tomita {n}": ("01", accepts) for n, accepts in TOMITA.items()},
    "brackets to depth 3": ("()", depth_limited(["()"], 3)),
    "brackets to depth 2 with text": ("()x", depth_limited(["()"], 2)),
    "two kinds of brackets to depth 2": ("()[]", depth_limited(["()", "[]"], 2)),
}


def exact_dfa(name):
    """Return the minimal DFA of a language."""
    alphabet, accepts = LANGUAGES[name]
    return seqray.learn_dfa(decider(accepts, alphabet), method="tree", n_words=5000).automaton


def words_for(dfa, n_words, rng):
    """Return code arrays: half of them random, half avoid states from which nothing is accepted."""
    alive = dfa.outputs > 0
    for _ in range(dfa.n_states):
        alive = alive | alive[dfa.next_state].any(axis=1)
    words = rng.integers(0, len(dfa.alphabet), (n_words, WORD_LENGTH))
    states = np.full(n_words, dfa.start_state)
    for place in range(WORD_LENGTH):
        for i in range(0, n_words, 2):
            good = np.flatnonzero(alive[dfa.next_state[states[i]]])
            if len(good) and rng.random() > 0.02:
                words[i, place] = rng.choice(good)
        states = dfa.next_state[states, words[:, place]]
    return words


def labels_of(dfa, words):
    """Return whether each prefix of each word is accepted, the empty one first."""
    states = np.full(len(words), dfa.start_state)
    labels = [dfa.outputs[states]]
    for column in words.T:
        states = dfa.next_state[states, column]
        labels.append(dfa.outputs[states])
    return np.stack(labels, axis=1)


class Network(torch.nn.Module):
    """A GRU that says after each prefix whether it is accepted."""

    def __init__(self, n_symbols):
        super().__init__()
        self.embedding = torch.nn.Embedding(n_symbols + 1, 8)  # the last one begins a word
        self.gru = torch.nn.GRU(8, HIDDEN, batch_first=True)
        self.head = torch.nn.Linear(HIDDEN, 1)

    def forward(self, ids):
        return self.head(self.gru(self.embedding(ids))[0])[..., 0]


def trained(dfa, seed=0, max_steps=MAX_STEPS):
    """Train a network until it decides a large batch of words as the DFA does, or so many steps."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network, n_symbols = Network(len(dfa.alphabet)), len(dfa.alphabet)
    optimiser = torch.optim.Adam(network.parameters(), 0.01)
    pool = words_for(dfa, 4000, rng)
    targets, ids = labels_of(dfa, pool), np.insert(pool, 0, n_symbols, axis=1)
    right_before = False
    for step in range(max_steps):
        chosen = rng.integers(0, len(pool), BATCH_SIZE)
        logits = network(torch.from_numpy(ids[chosen]))
        target = torch.from_numpy(targets[chosen]).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 99:
            with torch.no_grad():
                margins = network(torch.from_numpy(ids)) * torch.from_numpy(2.0 * targets - 1)
            if margins.min() > 3 and right_before:
                break
            right_before = bool(margins.min() > 3)
    return network.eval()


def box_of(network, alphabet):
    """Return a trained network as a box that gives the probability of yes."""
    n_symbols = len(alphabet)
    codes = {symbol: code for code, symbol in enumerate(alphabet)}

    def probability(words):
        lengths = np.array([len(word) for word in words])
        ids = np.full((len(words), lengths.max() + 1), n_symbols)
        for row, word in zip(ids, words, strict=True):
            row[1 : len(word) + 1] = [codes[sign] for sign in word]
        with torch.no_grad():
            logits = network(torch.from_numpy(ids)).double().numpy()
        return 1 / (1 + np.exp(-logits[np.arange(len(words)), lengths]))

    return seqray.black_box(probability, alphabet)
