from .data.datasets.bundled import air_passengers as air_passengers
from .data.datasets.electricity_prices import electricity_prices as electricity_prices
from .data.datasets.regional_sales import regional_sales as regional_sales
from .data.datasets.shop_sales import shop_sales as shop_sales
from .data.datasets.spare_parts import spare_parts as spare_parts
from .data.datasets.synthetic import Synthetic as Synthetic
