"""What a process learns from its launcher."""

from __future__ import annotations

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.launched import Launched, launched

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
SLURM = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0", "SLURM_NTASKS_PER_NODE": "1"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3"}


@pytest.mark.parametrize(
    ("told", "place"),
    [
        (TORCHRUN, Launched(3, 4, 1, 2)),
        ({"RANK": "1", "WORLD_SIZE": "2"}, Launched(1, 2, 1, 2)),
        ({**SLURM, "MASTER_ADDR": "node1"}, Launched(1, 2, 0, 1)),
        ({**OPEN_MPI, "MASTER_ADDR": "node1"}, Launched(0, 3, 0, 1)),
        ({**SLURM, **TORCHRUN, "MASTER_ADDR": "node1"}, Launched(3, 4, 1, 2)),
    ],
)
def test_the_variables_of_launchers_give_the_place(told: dict[str, str], place: Launched) -> None:
    assert launched(told) == place


@pytest.mark.parametrize("told", [{}, {"RANK": "0", "WORLD_SIZE": "1"}, {"RANK": "0"}, SLURM, OPEN_MPI])
def test_a_process_without_others_or_a_place_to_meet_trains_alone(told: dict[str, str]) -> None:
    assert launched(told) is None


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK: 'x' is not a number"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "do not fit together: RANK=2, WORLD_SIZE=2"),
        ({**TORCHRUN, "LOCAL_RANK": "2"}, "do not fit together"),
    ],
)
def test_variables_that_make_no_sense_are_refused(told: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        launched(told)
