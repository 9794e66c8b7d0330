"""Training utilities for all networks: a limit to one thread, and the Adam optimiser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit torch to one thread, so that trained weights do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Adam:
    """Update tensors in place by Adam's rule (Kingma and Ba, 2015).

    `torch.optim` is not used: importing it imports torch's compiler, which takes longer than training.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = tensors
        self._means = [torch.zeros_like(tensor) for tensor in tensors]
        self._squares = [torch.zeros_like(tensor) for tensor in tensors]
        self._steps = 0

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], learning_rate: float) -> None:
        """Update the tensors by one step of Adam; `gradients` holds the gradient of the loss per tensor."""
        self._steps += 1
        rate = learning_rate / (1.0 - MEAN_DECAY**self._steps)
        correction = (1.0 - SQUARE_DECAY**self._steps) ** 0.5
        state = zip(self._tensors, gradients, self._means, self._squares, strict=True)
        for tensor, gradient, mean, square in state:
            mean.lerp_(gradient, 1.0 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
            tensor.addcdiv_(mean, (square.sqrt() / correction).add_(EPSILON), value=-rate)
