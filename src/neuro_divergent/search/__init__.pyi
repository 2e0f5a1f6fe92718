from .dimension import Choices as Choices, Range as Range, horizons as horizons, log as log, uniform as uniform
from .space import Space as Space
