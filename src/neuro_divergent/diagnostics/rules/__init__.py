"""Rules of the doctor: evidence comes in, a finding or nothing goes out.

``base.Rule`` is the base class; each rule has its own file and is found by its registered name.
"""
