from .evaluation.splitters.base import Splitter as Splitter
from .evaluation.splitters.blocked import BlockedSplit as BlockedSplit
from .evaluation.splitters.fold import Fold as Fold
from .evaluation.splitters.function import SplitFunction as SplitFunction
from .evaluation.splitters.time_series import TimeSeriesSplit as TimeSeriesSplit
