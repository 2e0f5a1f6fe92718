from .data.scaling.series import (
    BoxCoxSeriesScaler as BoxCoxSeriesScaler,
    LogSeriesScaler as LogSeriesScaler,
    MinMaxSeriesScaler as MinMaxSeriesScaler,
    RobustSeriesScaler as RobustSeriesScaler,
    StandardSeriesScaler as StandardSeriesScaler,
)
from .data.scaling.window import (
    IdentityScaler as IdentityScaler,
    MeanAbsScaler as MeanAbsScaler,
    MinMaxScaler as MinMaxScaler,
    RevIN as RevIN,
    RobustScaler as RobustScaler,
    StandardScaler as StandardScaler,
)
