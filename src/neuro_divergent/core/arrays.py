"""Names of the array types that annotations use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
AnyFloats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.integer[Any]]
Indices = npt.NDArray[np.intp]
UInts32 = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
Objects = npt.NDArray[np.object_]
Times = npt.NDArray[np.datetime64] | npt.NDArray[np.integer[Any]]
