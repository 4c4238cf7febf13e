"""Recurrent layers along prefix trees, with gradients by hand.

PyTorch's own layers read words side by side. These read a tree level by level: each node once, from
its parent's state. The gradient is worked out here rather than recorded, because then all that does
not depend on the level after it, such as the gradients of the weights, is one product over all
nodes; and at the sizes of interest it is the number of calls that costs.

All layers share one form: ``apply(inputs, weight, bias, parents, sizes)``.

- ``inputs``: what the layer reads at each node times its input weights, with the input bias, shape
  ``(n_nodes, n_gates * n_hidden)``
- ``weight``, ``bias``: from the hidden state, PyTorch's layout
- ``parents``, ``sizes``: of a `TreeBatch`

The result is the hidden state at each node, shape ``(n_nodes, n_hidden)``. Inside, states have one
row more, which stands before the root: it is zero, and what flows back to it is of no interest.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

Gradients = tuple[Tensor, Tensor, Tensor, None, None]


class TanhOnTree(Function):
    """The plain recurrent layer: h = tanh(x + W h' + b)."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, parents: Tensor, sizes: list[int]
    ) -> Tensor:
        """Return the hidden states."""
        n_nodes, n_hidden = len(inputs), weight.shape[1]
        states = inputs.new_zeros(n_nodes + 1, n_hidden)
        before = inputs.new_empty(n_nodes, n_hidden)
        hidden, turned = states[:-1], weight.t()
        for parent, old, x, new in _levels(sizes, parents, before, inputs + bias, hidden):
            torch.index_select(states, 0, parent, out=old)
            torch.addmm(x, old, turned, out=new).tanh_()
        ctx.save_for_backward(weight, parents, before, hidden)
        ctx.sizes = sizes
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Gradients:
        """Return the gradients of the inputs, the weight and the bias."""
        weight, parents, before, hidden = ctx.saved_tensors
        flow = _with_sink(gradient)
        gates = 1 - hidden * hidden  # dh/da, then the gradient of a, the argument of tanh
        for parent, come, gate in _levels(ctx.sizes, parents, flow[:-1], gates)[::-1]:
            gate.mul_(come)
            flow.index_add_(0, parent, gate @ weight)
        return gates, gates.t() @ before, gates.sum(0), None, None


class GruOnTree(Function):
    """The gated recurrent unit: h = (1 - z) n + z h', n = tanh(x + r (W h' + b))."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, parents: Tensor, sizes: list[int]
    ) -> Tensor:
        """Return the hidden states."""
        n_nodes, n_hidden = len(inputs), weight.shape[1]
        states = inputs.new_zeros(n_nodes + 1, n_hidden)
        before = inputs.new_empty(n_nodes, n_hidden)
        fresh = inputs.new_empty(n_nodes, n_hidden)
        gates = inputs.new_empty(n_nodes, 3 * n_hidden)
        hidden, turned = states[:-1], weight.t()
        both, third = torch.split(gates, [2 * n_hidden, n_hidden], 1)
        x_both, x_third = torch.split(inputs, [2 * n_hidden, n_hidden], 1)
        views = (before, gates, both, *torch.split(both, n_hidden, 1), third, x_both, x_third)
        for parent, old, gate, rz, r, z, w, x_rz, x, n, new in _levels(
            sizes, parents, *views, fresh, hidden
        ):
            torch.index_select(states, 0, parent, out=old)
            torch.addmm(bias, old, turned, out=gate)
            rz.add_(x_rz).sigmoid_()
            torch.addcmul(x, r, w, out=n).tanh_()
            torch.lerp(n, old, z, out=new)
        ctx.save_for_backward(weight, parents, before, gates, fresh)
        ctx.sizes = sizes
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Gradients:
        """Return the gradients of the inputs, the weight and the bias."""
        weight, parents, before, gates, fresh = ctx.saved_tensors
        n_nodes, n_hidden = fresh.shape
        flow = _with_sink(gradient)
        r, z, w = torch.split(gates, n_hidden, 1)
        to_n = (1 - z) * (1 - fresh * fresh)  # dh/d(argument of n)
        # The derivatives of h by each gate's product with h'; times `flow` they are gradients.
        parts = torch.stack((to_n * w * r * (1 - r), (before - fresh) * z * (1 - z), to_n * r), 1)
        rows = parts.view(n_nodes, 3 * n_hidden)
        back = z.contiguous()
        views = (flow[:-1], flow[:-1].unsqueeze(1), parts, rows, back)
        for parent, come, come_all, part, row, up in _levels(ctx.sizes, parents, *views)[::-1]:
            part.mul_(come_all)
            up.mul_(come).addmm_(row, weight)
            flow.index_add_(0, parent, up)
        of_inputs = torch.cat((rows[:, : 2 * n_hidden], to_n.mul_(flow[:-1])), 1)
        return of_inputs, rows.t() @ before, rows.sum(0), None, None


class LstmOnTree(Function):
    """The long short-term memory: c = f c' + i g, h = o tanh(c)."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, parents: Tensor, sizes: list[int]
    ) -> Tensor:
        """Return the hidden states."""
        n_nodes, n_hidden = len(inputs), weight.shape[1]
        states = inputs.new_zeros(n_nodes + 1, n_hidden)
        cells = inputs.new_zeros(n_nodes + 1, n_hidden)
        before, cells_before, curved = (inputs.new_empty(n_nodes, n_hidden) for _ in range(3))
        gates = inputs + bias
        hidden, turned = states[:-1], weight.t()
        i, f, g, o = torch.split(gates, n_hidden, 1)
        first_two = gates[:, : 2 * n_hidden]
        views = (before, cells_before, gates, first_two, i, f, g, o, cells[:-1], curved, hidden)
        for parent, old, c_old, gate, i_f, i, f, g, o, c, t, new in _levels(sizes, parents, *views):
            torch.index_select(states, 0, parent, out=old)
            torch.index_select(cells, 0, parent, out=c_old)
            gate.addmm_(old, turned)
            i_f.sigmoid_()
            g.tanh_()
            o.sigmoid_()
            torch.mul(i, g, out=c).addcmul_(f, c_old)
            torch.tanh(c, out=t)
            torch.mul(o, t, out=new)
        ctx.save_for_backward(weight, parents, before, cells_before, gates, curved)
        ctx.sizes = sizes
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Gradients:
        """Return the gradients of the inputs, the weight and the bias."""
        weight, parents, before, cells_before, gates, curved = ctx.saved_tensors
        n_nodes, n_hidden = curved.shape
        flow = _with_sink(gradient)
        c_flow = torch.zeros_like(flow)
        i, f, g, o = torch.split(gates, n_hidden, 1)
        to_c = o * (1 - curved * curved)  # dh/dc
        # The derivatives of c (and for the last gate of h) by the argument of each gate.
        of_c = (g * i * (1 - i), cells_before * f * (1 - f), i * (1 - g * g))
        parts = torch.stack((*of_c, curved * o * (1 - o)), 1)
        rows = parts.view(n_nodes, 4 * n_hidden)
        cells, states = c_flow[:-1], flow[:-1]
        views = (states, cells, cells.unsqueeze(1), to_c, parts[:, :3], parts[:, 3], rows, f)
        for parent, come, c_come, c_all, d, of_cell, of_o, row, keep in _levels(
            ctx.sizes, parents, *views
        )[::-1]:
            c_come.addcmul_(come, d)
            of_cell.mul_(c_all)
            of_o.mul_(come)
            flow.index_add_(0, parent, row @ weight)
            c_flow.index_add_(0, parent, c_come * keep)
        return rows, rows.t() @ before, rows.sum(0), None, None


def _levels(sizes: list[int], *arrays: Tensor) -> list[tuple[Tensor, ...]]:
    """Cut arrays with one row per node into levels. All at once: a slice costs as much as a sum."""
    return list(zip(*(torch.split(array, sizes) for array in arrays), strict=True))


def _with_sink(gradient: Tensor) -> Tensor:
    """Return a copy with a row for what flows back beyond the root."""
    flow = gradient.new_zeros(len(gradient) + 1, gradient.shape[1])
    flow[:-1] = gradient
    return flow
