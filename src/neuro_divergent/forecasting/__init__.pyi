from .explain import Explanation as Explanation
from .forecast_module import ForecastModule as ForecastModule
from .pretrain import Pretrained as Pretrained
from .protocol import ForecastModel as ForecastModel
