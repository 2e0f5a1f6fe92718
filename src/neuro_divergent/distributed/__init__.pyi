from .ray_executor import RayExecutor as RayExecutor
from .strategies.data_parallel import DataParallel as DataParallel
from .strategies.local_sgd import LocalSGD as LocalSGD
from .strategies.sharded import Sharded as Sharded
from .strategies.zero import ZeRO as ZeRO
