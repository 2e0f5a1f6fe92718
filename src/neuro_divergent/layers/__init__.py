"""Building blocks shared by the architectures: tensors come in, tensors come out; no block reads a ``Batch``.

Each file holds one kind of block, such as ``attention.py`` or ``recurrent.py``.
"""
