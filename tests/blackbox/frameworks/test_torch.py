"""PyTorch modules as black boxes."""

from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest

from page_commands import DOCS, run_page_commands
from pages import blocks, run_example
from same_gru import WORDS, assert_same_as_native, native
from same_gru.torch import (
    CARD,
    gru_module,
    padded_torch_module,
    torch_module,
    torch_steps,
)
from seqray.automata.words import Alphabet
from seqray.blackbox.card import Card
from seqray.blackbox.frameworks.stepped import SteppedBox, SteppedModel
from seqray.blackbox.frameworks.torch import torch_box
from seqray.blackbox.queried import QueriedModel
from seqray.util.errors import (
    ArgumentError,
    BlackBoxError,
)

torch = pytest.importorskip("torch")
nn = torch.nn

ABC = Alphabet("abc")


# Any module -----------------------------------------------------------------------------------


def test_a_module_reads_whole_sequences():
    box = torch_module()
    assert isinstance(box, QueriedModel)
    assert_same_as_native(box)


def test_padded_batches_give_the_same():
    assert_same_as_native(padded_torch_module())


def test_a_module_with_states_is_stepped():
    box = torch_steps()
    assert isinstance(box, SteppedModel)
    assert_same_as_native(box)


def test_the_forward_of_the_user_gets_ids_and_lengths():
    module = gru_module()
    seen = []

    def forward(ids, lengths):
        seen.append((ids.dtype, ids.shape, lengths.tolist()))
        return module(ids)[torch.arange(len(ids)), lengths - 1]

    box = torch_box(module, replace(CARD, pad=0), forward=forward)
    assert_same_as_native(box)
    assert (torch.int64, (6, 21), [1, 2, 2, 3, 4, 21]) in seen


def test_a_module_that_needs_lengths_says_how_to_give_them():
    class Reading(nn.Module):
        def forward(self, ids, lengths):
            return lengths

    card = Card(ABC, "value", empty=0)
    with pytest.raises(BlackBoxError, match=r"argument: 'lengths': .*forward=lambda ids, lengths:"):
        torch_box(Reading(), card)
    assert torch_box(Reading(), card, forward=Reading()).weights(["ab"])[0] == 2


class Returning(nn.Module):
    """Answers what a function makes of ids."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, ids):
        return self.function(ids)


def test_just_an_alphabet_is_enough_for_values_and_of_a_tuple_the_first_part_counts():
    module = Returning(lambda ids: (ids.sum(dim=1), "state"))
    card = Card(ABC, "value", empty=0)
    np.testing.assert_array_equal(torch_box(module, card).weights(["", "c", "bc"]), [0, 2, 3])
    with pytest.raises(BlackBoxError, match='value of the empty word as "empty"'):
        torch_box(module, "abc")


def test_a_module_is_run_without_dropout_and_left_in_the_mode_of_each_part():
    module = gru_module().train()
    module.output.eval()
    modes = {name: part.training for name, part in module.named_modules()}
    box = torch_box(module, CARD)
    assert_same_as_native(box)
    assert {name: part.training for name, part in module.named_modules()} == modes
    module.output.weight = nn.Parameter(torch.full((4, 8), torch.nan))
    with pytest.raises(BlackBoxError):
        box.weights(["a"])
    assert {name: part.training for name, part in module.named_modules()} == modes


def test_no_gradients_are_recorded():
    states = []
    module = gru_module()

    def step(ids, state):
        scores, state = module.step(ids, state)
        states.append(state)
        return scores, state

    torch_box(module, CARD, step=step).weights(["abc"])
    assert not any(state.requires_grad for state in states)


def test_precision_is_that_of_the_module():
    exact = torch_box(gru_module().double(), CARD).next_symbol(WORDS)
    rough = torch_box(gru_module().bfloat16(), CARD).next_symbol(WORDS)
    np.testing.assert_allclose(exact, native().next_symbol(WORDS), atol=1e-6)
    np.testing.assert_allclose(rough, exact, atol=0.1)
    assert np.abs(rough - exact).max() > 1e-4


# States of all kinds --------------------------------------------------------------------------

Memory = namedtuple("Memory", "h c")


class Lstm(nn.Module):
    """An LSTM cell that answers a value, with its state in a form of the user's choice."""

    def __init__(self, pack, unpack):
        super().__init__()
        torch.manual_seed(1)
        self.cell = nn.LSTMCell(3, 4)
        self.pack, self.unpack = pack, unpack

    def step(self, ids, state):
        one_hot = nn.functional.one_hot(ids, 3).float()
        h, c = self.cell(one_hot, None if state is None else self.unpack(state))
        return h.sum(dim=1), self.pack(h, c)


FORMS = {
    "tuple": (lambda h, c: (h, c), tuple),
    "list": (lambda h, c: [h, [c, None]], lambda s: (s[0], s[1][0])),
    "dictionary": (lambda h, c: {"h": h, "c": c}, lambda s: (s["h"], s["c"])),
    "named": (Memory, lambda s: (s.h, s.c)),
    "batch last": (lambda h, c: (h.T, c[None]), lambda s: (s[0].T, s[1][0])),
    "one tensor": (lambda h, c: torch.stack([h, c], dim=2), lambda s: s.unbind(dim=2)),
}


@pytest.mark.parametrize("form", FORMS)
def test_states_may_have_many_forms(form):
    module = Lstm(*FORMS[form])
    box = torch_box(module, Card(ABC, "value", start=0), step=module.step)
    assert type(box) is SteppedBox
    plain = Lstm(*FORMS["tuple"])
    expected = []
    for word in WORDS:
        state = None
        for code in [0, *ABC.encode(word)]:
            value, state = plain.step(torch.tensor([int(code)]), state)
        expected.append(value.item())
    np.testing.assert_allclose(box.weights(WORDS), expected, rtol=1e-5)


def test_scores_of_a_step_may_keep_the_time_axis():
    module = gru_module()

    def step(ids, state):
        hidden, state = module.recurrent(module.embedding(ids[:, None]), state)
        return module.output(hidden), state

    assert_same_as_native(torch_box(module, CARD, step=step))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda ids, state: ids, "TypeError: step: expected .scores, state., got Tensor"),
        (lambda ids, state: (ids, 7), "state: expected tensors, or tuples, .* got 7"),
        (lambda ids, state: (ids, torch.zeros(5)), r"shape \(5,\) for two ids and \(5,\) for thre"),
        (lambda ids, state: (ids, torch.ones(len(ids), len(ids))), "one axis that runs over the"),
        (lambda ids, state: 1 / 0, "its first step, on two and on three ids 3, failed: ZeroDiv"),
    ],
)
def test_a_step_that_cannot_be_used_is_refused(step, message):
    with pytest.raises(ArgumentError, match=f"the torch module Gru: .*{message}"):
        torch_box(gru_module(), CARD, step=step)


def test_a_module_is_called_by_the_name_that_was_given():
    with pytest.raises(ArgumentError, match="the torch module tickets: "):
        torch_box(gru_module(), CARD, step=lambda ids, state: None, name="tickets")


# Modules that cannot be used ------------------------------------------------------------------


def test_what_is_no_module_is_refused():
    with pytest.raises(ArgumentError, match=r"module: expected an nn\.Module, got function"):
        torch_box(lambda ids: ids, CARD)


def test_forward_and_step_are_alternatives():
    with pytest.raises(ArgumentError, match="expected forward or step, got both"):
        torch_box(gru_module(), CARD, forward=max, step=max)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda ids: {"logits": ids}, "TypeError: expected a tensor of scores, got dict"),
        (lambda ids: 1 / 0, "failed on the word 'λ': ZeroDivisionError"),
        (lambda ids: torch.full((len(ids), 4), torch.nan), "answered .*nan.* for the word 'λ'"),
        (lambda ids: torch.zeros(len(ids) + 1, 4), "expected a row of scores for each"),
        (lambda ids: torch.zeros(len(ids), 9, 4), "a row of scores for each id"),
    ],
)
def test_a_module_that_fails_or_answers_nonsense_is_named(function, message):
    with pytest.raises(BlackBoxError, match=f"the torch module Returning .*{message}"):
        torch_box(Returning(function), CARD)


@pytest.mark.parametrize(
    ("card", "kind", "message"),
    [
        (replace(CARD, start=4), BlackBoxError, "IndexError.*alphabet, ids and start fit the"),
        (replace(CARD, ids=(0, 1, 9)), BlackBoxError, "failed on the word 'c': IndexError"),
        (replace(CARD, end=4), ArgumentError, "4 outputs and its card speaks of output 4"),
        (replace(CARD, start=None), ArgumentError, "give the card a start"),
    ],
)
def test_an_alphabet_and_a_module_that_disagree_are_refused_on_opening(card, kind, message):
    with pytest.raises(kind, match=message):
        torch_box(gru_module(), card)


# What the documentation shows -----------------------------------------------------------------


def test_the_page_runs(tmp_path, monkeypatch, hasty):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQRAY_STORE", str(tmp_path / ".answers.sqlite"))
    shown = {}
    exec("\n".join(blocks("boxes/torch.md", "python")), shown)
    whole, opened = torch_box(shown["module"], shown["card"]), shown["box"]
    np.testing.assert_allclose(opened.weights(WORDS), whole.weights(WORDS), rtol=1e-5)
    run_page_commands(DOCS / "boxes/torch.md")


def test_the_example_finds_two_states():
    shown = run_example("torch_box.py")
    assert "the module became WeightedAutomaton(2 states, 2 symbols)" in shown
    assert "the same answers: True" in shown
