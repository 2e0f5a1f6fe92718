"""Runs of a state: how long they are, and how long they can become by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints

_MANY_RUNS = 12
_MARGIN = 1.3


@dataclass(frozen=True, eq=False)
class Runs:
    """The longest run of a state in each row.

    Attributes:
        lengths: Number of places; 0 where the state never is.
        begins: First place of the run.
    """

    lengths: Ints
    begins: Ints


def longest_runs(state: Bools) -> Runs:
    """Return the longest run of ``True`` in each row, the last one where several are as long."""
    rows, columns = state.shape
    counter = np.zeros(rows, np.int64)
    lengths, ends = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for place, column in enumerate(np.ascontiguousarray(state.T)):
        counter += 1
        counter *= column
        longer = counter >= np.maximum(lengths, 1)
        lengths[longer], ends[longer] = counter[longer], place
    return Runs(lengths, np.where(lengths > 0, ends - lengths + 1, columns))


def longest_by_chance(state: Bools, usable: Bools, *, places: int, probability: float) -> Floats:
    """Return for each row the length that a run of a state reaches with a small probability.

    The state is taken as a Markov chain: once there, it stays with the probability that it stayed in the past. An
    upper confidence limit of that is used (95 %, Wilson), so little past means long runs. A state that was never there
    before is expected to stay as rarely as it begins.

    Args:
        state: Whether the state was there, in the past.
        usable: Where that is known.
        places: Places of all series together in which a run could begin.
        probability: With which any of these places begins a longer run.

    Returns:
        The length, at least the double of the longest run of the past; infinite where a row has no past.
    """
    known = usable[:, 1:] & usable[:, :-1]
    was, remains = state[:, :-1] & known, state[:, 1:] & state[:, :-1] & known
    began = was.sum(1)
    occurs = (state & usable).sum(1)
    size = usable.sum(1)
    stays = _upper(remains.sum(1), began)
    rare = _upper(occurs, size)
    # With too few visits to know how long it stays, it is at least as rare to stay as the whole past says.
    chance = np.where(began >= 3, stays, np.maximum(rare, np.minimum(stays, 0.5) * (began > 0)))
    with np.errstate(divide="ignore"):
        needed = 1 + np.log(probability / max(places, 1)) / np.log(np.clip(chance, 1e-12, 1 - 1e-12))
    longest = longest_runs(state & usable).lengths
    # Runs of nearly the same length, such as nights, are no Markov chain: the longest of many is then what counts.
    visits = began - remains.sum(1)
    many = np.log(max(places, 2) / probability) / np.log(np.maximum(visits, 2))
    needed = np.where(visits >= _MANY_RUNS, np.minimum(needed, _MARGIN * longest * many), needed)
    needed = np.maximum(needed, 2.0 * longest + 1)
    return np.where(size > 1, needed, np.inf)


def _upper(hits: Ints, trials: Ints) -> Floats:
    """Return the upper limit of a probability by Wilson's interval of 95 %."""
    z = 1.96
    count = np.maximum(trials, 1)
    fraction = hits / count
    spread = z * np.sqrt(fraction * (1 - fraction) / count + z**2 / (4 * count**2))
    return np.where(trials > 0, (fraction + z**2 / (2 * count) + spread) / (1 + z**2 / count), 1.0)
