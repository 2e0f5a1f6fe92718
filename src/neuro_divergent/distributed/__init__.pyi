from .strategies.data_parallel import DataParallel as DataParallel
