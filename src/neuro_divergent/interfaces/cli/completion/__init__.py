"""``nd completion``: commands, options and values by the TAB key in bash, zsh and fish.

``command.py`` prints the script for a shell; the script calls ``nd`` again with the words typed so far, which
``words.py`` completes from the commands themselves and ``values.py`` with names of models, runs and files.
"""

from neuro_divergent.interfaces.cli.completion.answer import ANSWER, answer
from neuro_divergent.interfaces.cli.completion.command import EXAMPLES, completion

__all__ = ["ANSWER", "EXAMPLES", "answer", "completion"]
