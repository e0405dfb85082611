"""Optimizers, learning rate, and the check that stops a training run before it ruins the weights."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from graphmetric.encoder import GraphEncoder
from graphmetric.errors import InvalidArgument, TrainingDiverged
from graphmetric.model import GraphDistanceNetwork
from graphmetric.training.checkpoint import Tensors
from graphmetric.training.options import TrainingOptions

EXPLOSION = 1e4
"""Training stops with an error at this many times the loss of the first step, or 1 if that was less."""
_MOMENTUM = 0.95
_POLYNOMIAL = (3.4445, -4.7750, 2.0315)
"""Jordan's polynomial of the singular values: five rounds bring those between .002 and 1 to between .7 and 1.2."""
_ROUNDS = 5
_ADAM_SIZE = 0.2
"""Root mean square of the updates of Adam, by Liu et al. (2025): one learning rate then suits both."""


class ModelOptimizer:
    """One torch optimizer for all parameters of a model, or one for the matrices of its layers and one for the rest."""

    def __init__(self, model: GraphDistanceNetwork, options: TrainingOptions) -> None:
        self.rate = options.learning_rate
        self._named = dict(model.named_parameters())
        matrices = _layer_matrices(model) if options.optimizer == "muon" else []
        others = [parameter for parameter in model.parameters() if all(parameter is not one for one in matrices)]
        kind = torch.optim.Adam if options.optimizer == "adam" else torch.optim.AdamW
        self._parts: list[torch.optim.Optimizer] = [
            kind(others, lr=self.rate, weight_decay=options.weight_decay, fused=True)
        ]
        if matrices:
            self._parts.append(Muon(matrices, lr=self.rate, weight_decay=options.weight_decay))

    def clear_gradients(self) -> None:
        """Clear the gradients before the next loss."""
        for part in self._parts:
            part.zero_grad(set_to_none=True)

    def step(self, rate: float) -> None:
        """Update all weights with this learning rate."""
        self.rate = rate
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()

    def tensors(self) -> Tensors:
        """Return the state of each parameter, such as means of gradients."""
        return {
            f"{name}/{quantity}": value
            for name, parameter in self._named.items()
            for part in self._parts
            if parameter in part.state
            for quantity, value in part.state[parameter].items()
        }

    def restore(self, tensors: Tensors) -> None:
        """Restore the state that :meth:`tensors` returned."""
        owners = {
            parameter: part for part in self._parts for group in part.param_groups for parameter in group["params"]
        }
        for key, tensor in tensors.items():
            name, _, quantity = key.rpartition("/")
            parameter = self._named[name]
            owners[parameter].state[parameter][quantity] = tensor


def _layer_matrices(model: GraphDistanceNetwork) -> list[Tensor]:
    """List the matrices of attention, feed-forward layers and messages; all other parameters are left to Adam."""
    if not isinstance(model.encoder, GraphEncoder):
        raise InvalidArgument(f"optimizer 'muon' is for the graph transformer, not for {type(model.encoder).__name__}")
    return [module.weight for module in model.encoder.layers.modules() if isinstance(module, nn.Linear)]


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal (Jordan et al., 2024), for the weight matrices of layers.

    Steps have equal size in every direction of a matrix, where gradients have a few large ones. The update is the
    orthogonal matrix nearest to the momentum, approximately, scaled as if it were one of Adam's.

    Matrices of one shape are made orthogonal together and in single precision. torch has the same optimizer, one
    matrix at a time in bfloat16, which a processor without it emulates: eighteen times the work of this.
    """

    def __init__(self, matrices: Iterable[Tensor], lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Update all matrices that have a gradient; a closure is not called."""
        for group in self.param_groups:
            alike: defaultdict[tuple[int, int], list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[min(matrix.shape), max(matrix.shape)].append(matrix)
            for (_, longer), matrices in alike.items():
                moves = orthogonalize(torch.stack([_lying(self._nesterov_momentum(matrix)) for matrix in matrices]))
                for matrix, move in zip(matrices, moves, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    _lying(matrix).sub_(move, alpha=group["lr"] * _ADAM_SIZE * longer**0.5)

    def _nesterov_momentum(self, matrix: Tensor) -> Tensor:
        """Return Nesterov's momentum: as it will be if the gradient stays."""
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        momentum: Tensor = state["momentum"]
        momentum.lerp_(matrix.grad, 1 - _MOMENTUM)
        return matrix.grad.lerp(momentum, _MOMENTUM)


def orthogonalize(matrices: Tensor) -> Tensor:
    """Approximate U Vᵀ for each U S Vᵀ, (n, rows, columns) with rows ≤ columns, by Newton and Schulz's iteration."""
    a, b, c = _POLYNOMIAL
    found: Tensor = matrices / torch.linalg.matrix_norm(matrices, keepdim=True).clamp_min(1e-7)
    for _ in range(_ROUNDS):
        gram = found @ found.mT
        found = torch.baddbmm(found, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), found, beta=a)
    return found


def _lying(matrix: Tensor) -> Tensor:
    """Transpose a matrix with more rows than columns."""
    return matrix.mT if matrix.shape[0] > matrix.shape[1] else matrix


def learning_rate(options: TrainingOptions, step: int, num_steps: int) -> float:
    """Return the learning rate at a step from 0: a linear warm-up, then constant or half a cosine down to zero."""
    if step < options.warmup:
        return options.learning_rate * (step + 1) / options.warmup
    if options.schedule == "constant":
        return options.learning_rate
    done = (step - options.warmup) / max(1, num_steps - options.warmup)
    return options.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def check_divergence(model: nn.Module, loss: float, gradient_norm: float, first_loss: float, where: str) -> None:
    """Raise if this step would ruin the weights; ``where`` names step and learning rate."""
    least = max(1.0, first_loss)
    if math.isfinite(loss) and math.isfinite(gradient_norm) and loss <= EXPLOSION * least:
        return
    if not math.isfinite(loss):
        what = f"the loss is {loss}{_blame(model.named_parameters())}"
    elif not math.isfinite(gradient_norm):
        culprit = _blame((name, weights.grad) for name, weights in model.named_parameters())
        what = f"the loss is {loss:g} but its gradient is not finite{culprit}"
    else:
        what = f"the loss is {loss:g}, which is {loss / least:.3g} times what it began with"
    raise TrainingDiverged(
        f"{what} ({where}, loss of the first step {first_loss:g}). The weights are those of the step before. Try a "
        "lower learning_rate, a longer warmup or a smaller clip_norm; if it fails at the very first step, look for "
        "extreme numbers in node features, edge weights or labels"
    )


def _blame(named: Iterable[tuple[str, Tensor | None]]) -> str:
    wild = (name for name, values in named if values is not None and not bool(values.isfinite().all()))
    first = next(wild, None)
    return "" if first is None else f", first in {first}"
