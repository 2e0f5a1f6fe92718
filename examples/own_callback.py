"""A callback of one's own: training ends as soon as the network is good enough."""

import torch
from torch import nn

import neuro_divergent as nd


class GoodEnough(nd.callbacks.Callback):
    """Ends training when the validation loss falls below a limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def validation_end(self, trainer: nd.Trainer) -> None:
        """Compare."""
        if trainer.state.metrics["validation_loss"] < self.limit:
            trainer.stop(f"the validation loss is below {self.limit}")


inputs = torch.linspace(-3, 3, 200)[:, None]
data = inputs, inputs.sin()
network = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
config = nd.TrainingConfig(max_steps=5000, optimizer=nd.AdamW(lr=0.01), threads=1)
trainer = nd.Trainer(network, nd.losses.MSE(), config, callbacks=[GoodEnough(0.01)])
history = trainer.fit(data, data)

print(f"stopped at step {trainer.state.step}: {trainer.state.stop_reason}")
print(history.by_epoch().select("epoch", "train_loss", "validation_loss").drop_nulls().tail(3))
