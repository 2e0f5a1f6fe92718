from .accountant import (
    Rounds as Rounds,
    compute_delta as compute_delta,
    compute_epsilon as compute_epsilon,
    find_noise_multiplier as find_noise_multiplier,
)
from .renyi import compute_renyi_epsilon as compute_renyi_epsilon
