"""Gradients of anything by anything: a tape that records a computation, and a check of what it answers."""

import torch
from torch import nn

import neuro_divergent as nd

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
inputs, targets = torch.randn(16, 2), torch.randn(16, 1)

# One step of gradient descent by hand: the tape answers for parameters, inputs and values in between.
with nd.GradientTape() as tape:
    tape.watch(inputs, "inputs")
    hidden = tape.record(network[1](network[0](inputs)), "hidden")
    loss = (network[2](hidden) - targets).square().mean()
gradients = tape.gradient(loss, {"network": network, "inputs": "inputs", "hidden": "hidden"}, clip=nd.ClipNorm(1.0))
with torch.no_grad():
    for name, parameter in network.named_parameters():
        parameter -= 0.1 * gradients["network"][name]
print({name: tuple(value.shape) for name, value in gradients["network"].items()})

# A tape inside a tape gives the second derivative: here that of x^4 at 2, which is 12 x^2.
x = torch.tensor(2.0)
with nd.GradientTape() as outer:
    outer.watch(x)
    with nd.GradientTape() as inner:
        quartic = inner.watch(x) ** 4
    slope = inner.gradient(quartic, x)
print("second derivative:", outer.gradient(slope, x).item())

# Are the gradients of a network those of its function?
print(nd.check_gradients(network, (inputs, targets), nd.losses.MSE()))
