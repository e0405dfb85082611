"""What moves the weights, and what it remembers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphmetric.encoder import GraphEncoder
from graphmetric.errors import InvalidArgument
from graphmetric.model import TrainableDistance
from graphmetric.training.checkpoint import Tensors
from graphmetric.training.muon import Muon
from graphmetric.training.options import TrainingOptions


class ModelOptimizer:
    """One torch optimiser for all parameters of a model, or one for the matrices of its layers and one for the rest."""

    def __init__(self, model: TrainableDistance, options: TrainingOptions) -> None:
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
        """Before the next loss."""
        for part in self._parts:
            part.zero_grad(set_to_none=True)

    def step(self, rate: float) -> None:
        """Move all weights by this learning rate."""
        self.rate = rate
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()

    def tensors(self) -> Tensors:
        """All that it remembers of each parameter, such as means of gradients."""
        return {
            f"{name}/{quantity}": value
            for name, parameter in self._named.items()
            for part in self._parts
            if parameter in part.state
            for quantity, value in part.state[parameter].items()
        }

    def restore(self, tensors: Tensors) -> None:
        """The inverse of :meth:`tensors`."""
        owners = {
            parameter: part for part in self._parts for group in part.param_groups for parameter in group["params"]
        }
        for key, tensor in tensors.items():
            name, _, quantity = key.rpartition("/")
            parameter = self._named[name]
            owners[parameter].state[parameter][quantity] = tensor


def _layer_matrices(model: TrainableDistance) -> list[Tensor]:
    """Of attention, feed-forward and messages; inputs, biases, norms and the output are for Adam."""
    if not isinstance(model.encoder, GraphEncoder):
        raise InvalidArgument(f"optimizer 'muon' is for the graph transformer, not for {type(model.encoder).__name__}")
    return [module.weight for module in model.encoder.layers.modules() if isinstance(module, nn.Linear)]
