"""Every architecture whose weights translate."""

from __future__ import annotations

from tests.parity import perceptrons, sequences, transformers

PAIRS = perceptrons.PAIRS | sequences.PAIRS | transformers.PAIRS
