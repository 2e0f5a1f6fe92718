from .data.augment import Augmentation as Augmentation
from .data.augment.jitter import Jitter as Jitter
from .data.augment.mask import MaskHistory as MaskHistory
from .data.augment.mixup import Mixup as Mixup
from .data.augment.scale import Scale as Scale
from .data.augment.time_warp import TimeWarp as TimeWarp
from .data.augment.window_slice import WindowSlice as WindowSlice
