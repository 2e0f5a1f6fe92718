"""Training of any torch module: module, loss, `TrainingConfig` and data come in, trained weights and a `History` out.

`engine.py` holds the `Trainer` and its loop; `train_step.py` what one step computes; `config.py` every setting. Parts
that can be exchanged have a folder each: `optimizers`, `schedules`, `gradients`, `callbacks`; `checkpointing` saves and
restores the state, `tuning` measures learning rates and batch sizes.
"""

from neuro_divergent.core.lazy_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
