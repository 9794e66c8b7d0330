"""Training with torch: the optimiser and the number of threads."""

from __future__ import annotations

import torch

from needful.torch_training import Adam, single_thread


def test_adam_agrees_with_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    ours = [torch.rand(shape, generator=generator) for shape in ((3, 2), (5,))]
    theirs = [layer.clone().requires_grad_() for layer in ours]
    adam, reference = Adam(ours), torch.optim.Adam(theirs, lr=1e-3)
    for _ in range(20):
        gradients = [torch.rand(layer.shape, generator=generator) - 0.3 for layer in ours]
        adam.step(gradients, learning_rate=1e-3)
        for layer, gradient in zip(theirs, gradients, strict=True):
            layer.grad = gradient
        reference.step()
    for one, other in zip(ours, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-7)


def test_the_number_of_threads_is_restored() -> None:
    before = torch.get_num_threads()
    with single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
