"""The training engine on a network that has nothing to do with time series: XOR."""

import torch
from torch import nn

import neuro_divergent as nd

inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = torch.tensor([[0.0], [1.0], [1.0], [0.0]])

network = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
config = nd.TrainingConfig(max_steps=500, max_epochs=None, optimizer=nd.AdamW(lr=0.03, weight_decay=0.0))
history = nd.Trainer(network, nd.losses.MSE(), config).fit((inputs, targets))

print(history.frame().select("step", "train_loss").tail(3))
print(network(inputs).round(decimals=2).flatten().tolist())
