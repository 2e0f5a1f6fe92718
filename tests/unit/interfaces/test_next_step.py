"""What is added to an error of the command line whose message does not say what to do."""

from __future__ import annotations

import pytest

from neuro_divergent.interfaces.cli.next_step import add_next_step


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "a/b: cannot be written: No space left on device; needs 2 kB, 1 kB free.",
            "Make room or choose another place.",
        ),
        ("a/b: cannot be written: Not a directory", "Choose another place, as with --output."),
    ],
)
def test_file_that_cannot_be_written_is_answered_with_what_helps(message: str, advice: str) -> None:
    assert add_next_step(message) == f"{message.rstrip('.')}. {advice}"
