from .dimension import Choices as Choices, Range as Range, horizons as horizons, log as log, uniform as uniform
from .objective import Objective as Objective
from .space import Space as Space
from .study import Study as Study
from .trial import Trial as Trial
