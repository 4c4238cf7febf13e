import numpy as np
import pytest
import torch

from seqray.automata.tree_batches import Corpus
from seqray.automata.words import Alphabet
from seqray.training.learner import Learner
from seqray.training.network import (
    CrossEntropyOfCells,
    Network,
    cross_entropy,
    is_large,
    to_seqray,
)
from seqray.util.errors import ArgumentError

ALPHABET = Alphabet("abc")
CELLS = ("gru", "lstm", "tanh")


def some_words(n=60, seed=0):
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("abc"), p=[0.6, 0.3, 0.1], size=(n, 12))
    lengths = rng.integers(0, 12, n)
    return ALPHABET.words(["".join(w[:k]) for w, k in zip(letters, lengths, strict=True)])


def plain_loss(network, word, alphabet=ALPHABET):
    """The cross-entropy of one word through PyTorch's own layers."""
    codes = alphabet.encode(word).tolist()
    logits = network(torch.tensor([[len(alphabet), *codes]]))[0]
    aims = torch.tensor([*codes, len(alphabet)])
    return torch.nn.functional.cross_entropy(logits, aims, reduction="sum")


def network_of(cell, n_layers, dtype=torch.float32):
    torch.manual_seed(1)
    network = Network(len(ALPHABET), hidden=7, n_layers=n_layers, cell=cell).to(dtype)
    with torch.no_grad():  # large enough to be far from linear
        for parameter in network.parameters():
            parameter.mul_(2)
    return network


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("cell", CELLS)
def test_loss_and_gradient_on_the_tree_are_those_of_the_single_words(cell, n_layers):
    network, words = network_of(cell, n_layers, torch.float64), some_words()
    assert len(words.unique()[0]) < len(words)  # some stand twice
    loss = cross_entropy(network, Corpus(words).batch(np.arange(len(words))))
    loss.backward()
    gradients = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    plain = sum(plain_loss(network, word) for word in words)
    plain.backward()
    assert loss.item() == pytest.approx(plain.item(), rel=1e-12)
    for gradient, parameter in zip(gradients, network.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cell", CELLS)
def test_in_float32_both_gradients_agree_as_far_as_it_goes(cell):
    network, words = network_of(cell, 2), some_words(seed=3)
    (cross_entropy(network, Corpus(words).batch(np.arange(len(words)))) / len(words)).backward()
    gradients = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    (sum(plain_loss(network, word) for word in words) / len(words)).backward()
    for gradient, parameter in zip(gradients, network.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("cell", CELLS)
def test_the_copy_in_seqray_predicts_the_same(cell, n_layers):
    network, words = network_of(cell, n_layers), some_words(20, seed=2)
    model = to_seqray(network, ALPHABET)
    with torch.no_grad():
        for word, row in zip(words, model.next_symbol(words), strict=True):
            codes = ALPHABET.encode(word).tolist()
            wanted = torch.softmax(network(torch.tensor([[len(ALPHABET), *codes]]))[0, -1], 0)
            np.testing.assert_allclose(row, wanted.numpy(), atol=1e-6)
    losses = [plain_loss(network, word).item() for word in words]
    np.testing.assert_allclose(-np.log(model.weights(words)), losses, rtol=1e-5)


def test_later_changes_do_not_reach_the_copy():
    network = network_of("gru", 1)
    model = to_seqray(network, "abc")
    before = model.next_symbol(["ab"])
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(model.next_symbol(["ab"]), before)


def test_sizes_are_the_papers():
    network = Network(4, hidden=30)
    shapes = [tuple(layer.weight.shape) for layer in network.dense]
    assert shapes == [(15, 30), (12, 15), (5, 12)]
    assert tuple(network.embedding.weight.shape) == (5, 12)
    assert network.recurrent.num_layers == 2


@pytest.mark.parametrize(("n_symbols", "width"), [(33, 99), (85, 255), (86, 256), (700, 256)])
def test_a_large_alphabet_bounds_the_widths(n_symbols, width):
    network = Network(n_symbols, hidden=30)
    assert tuple(network.embedding.weight.shape) == (n_symbols + 1, width)
    assert tuple(network.dense[1].weight.shape) == (width, 15)
    assert tuple(network.dense[2].weight.shape) == (n_symbols + 1, width)
    assert is_large(n_symbols) == (width < 3 * n_symbols)


def test_any_width_can_be_chosen():
    assert Network(100, hidden=6, embedding=300).embedding.weight.shape[1] == 300


@pytest.mark.parametrize(
    ("n_symbols", "embedding", "factor"),
    [(85, None, 1), (700, None, 6), (700, 40, 6), (100, 300, 1), (20, 10, 1)],
)
def test_narrow_layers_of_large_alphabets_begin_with_larger_weights(n_symbols, embedding, factor):
    torch.manual_seed(0)
    network = Network(n_symbols, hidden=400, embedding=embedding)
    for layer in network.dense[:2]:  # PyTorch's weights have the variance 1/3n, He's 2/n
        n_inputs = layer.weight.shape[1]
        variance = layer.weight.detach().square().mean().item()
        assert variance * 3 * n_inputs == pytest.approx(factor, rel=0.1)
    assert network.dense[2].weight.detach().square().mean().item() == pytest.approx(
        1 / (3 * network.dense[2].weight.shape[1]), rel=0.1
    )


def test_the_cross_entropy_of_cells_is_that_of_all_counts():
    torch.manual_seed(0)
    logits = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    counts = torch.tensor([[3, 0, 1, 0], [0, 0, 0, 2], [1, 0, 0, 0], [0, 0, 0, 0], [2, 1, 1, 5.0]])
    counts = counts.double()
    cells = counts.flatten().nonzero().flatten()
    values = counts.flatten()[cells]
    total = CrossEntropyOfCells.apply(logits, cells, values)
    wanted = -(torch.log_softmax(logits, 1) * counts).sum()
    torch.testing.assert_close(total, wanted)
    (gradient,) = torch.autograd.grad(3 * total, logits)
    torch.testing.assert_close(gradient, torch.autograd.grad(3 * wanted, logits)[0])
    assert torch.autograd.gradcheck(
        lambda each: CrossEntropyOfCells.apply(each, cells, values), logits
    )


def test_a_large_alphabet_has_the_loss_and_gradient_of_single_words():
    symbols = [str(i) for i in range(90)]
    alphabet = Alphabet(symbols)
    rng = np.random.default_rng(0)
    words = alphabet.words([rng.choice(symbols[:9], n).tolist() for n in rng.integers(0, 5, 40)])
    torch.manual_seed(0)
    network = Network(90, hidden=6).double()
    loss = cross_entropy(network, Corpus(words).batch(np.arange(40)))
    loss.backward()
    gradients = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    plain = sum(plain_loss(network, word, alphabet) for word in words)
    plain.backward()
    assert loss.item() == pytest.approx(plain.item(), rel=1e-12)
    for gradient, parameter in zip(gradients, network.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-10, atol=1e-10)


def test_an_unknown_cell_is_refused():
    with pytest.raises(ArgumentError, match="cell: expected one of gru, lstm, tanh, got 'gur'"):
        Network(2, cell="gur")


def test_a_learner_refuses_the_weights_of_another_size():
    learner, other = Learner(network_of("gru", 1)), Learner(network_of("gru", 2))
    with pytest.raises(ArgumentError, match="weights: expected shape"):
        learner.restore(other.state())
