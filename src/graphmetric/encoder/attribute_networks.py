"""One small network per kind of node attribute."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

_CHANNELS = 16
_POOLED = 4


class VectorNetwork(nn.Module):
    """Real vectors: an MLP with one hidden layer."""

    def __init__(self, vector_width: int, hidden_size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(vector_width, hidden_size)
        self.outer = nn.Linear(hidden_size, hidden_size)

    def forward(self, vector: Float[Tensor, "graphs k d_x"]) -> Float[Tensor, "graphs k d_h"]:
        embedded: Tensor = self.outer(F.gelu(self.inner(vector)))
        return embedded


class TextNetwork(nn.Module):
    """Texts: an LSTM over word embeddings, read at the last word."""

    def __init__(self, num_words: int, hidden_size: int) -> None:
        super().__init__()
        self.words = nn.Embedding(num_words, hidden_size, padding_idx=0)
        self.lstm = nn.LSTM(hidden_size, hidden_size, batch_first=True)

    def forward(self, tokens: Int[Tensor, "texts words"]) -> Float[Tensor, "texts d_h"]:
        read, _ = self.lstm(self.words(tokens))
        last = (tokens != 0).sum(dim=1).clamp(min=1) - 1  # an LSTM never looks ahead, so padding has no effect on it
        state: Tensor = read[torch.arange(len(tokens), device=tokens.device), last]
        return state


class ImageNetwork(nn.Module):
    """Images of any size: two convolutions, averaged down to a grid, one linear map."""

    def __init__(self, channels: int, hidden_size: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, _CHANNELS, kernel_size=3, padding=1)
        self.second = nn.Conv2d(_CHANNELS, 2 * _CHANNELS, kernel_size=3, padding=1)
        self.outer = nn.Linear(2 * _CHANNELS * _POOLED**2, hidden_size)

    def forward(self, pixels: Float[Tensor, "images channels height width"]) -> Float[Tensor, "images d_h"]:
        grid = F.adaptive_avg_pool2d(F.relu(self.second(F.relu(self.first(pixels)))), _POOLED)
        embedded: Tensor = self.outer(grid.flatten(1))
        return embedded
