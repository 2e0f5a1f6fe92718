"""The panels of the comparison: half of them were used while the search was made, the others were not."""

from __future__ import annotations

PANELS = (
    # Those that choices were made on.
    "electricity weekly",
    "M3 monthly, short",
    "M4 yearly, 1,000",
    "car parts",
    "tourism",
    "bikes",
    # Those that were held out.
    "M4 hourly",
    "M4 monthly, 300",
    "labour",
    "prices of energy",
    "gasoline",
    "classic monthly",
)
