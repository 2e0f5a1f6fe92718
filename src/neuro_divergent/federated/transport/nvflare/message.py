"""What controller and executors say to each other in tasks of NVIDIA FLARE."""

from __future__ import annotations

from typing import Literal

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable

TRAIN, FINISH = "neuro_divergent_train", "neuro_divergent_finish"
ALIVE = "neuro_divergent.alive"
_CONTENT, _PROBLEM, _ANSWER, _FREQUENCY = "content", "problem", "answer", "frequency"

Answer = Literal["update", "refused", "failed", "lost"]


def carry(content: bytes) -> Shareable:
    """Return a message with the bytes of a task."""
    message = Shareable()
    message[_CONTENT] = content
    return message


def carry_answer(answer: Answer, content: bytes = b"", *, frequency: str = "", problem: str = "") -> Shareable:
    """Return the answer of a client.

    Args:
        answer: ``update``; ``refused`` for a round without one; ``failed`` if the client cannot take part at all.
        content: Bytes of the update.
        frequency: The step between rows of the client.
        problem: Why there is none.
    """
    message = carry(content)
    message[_ANSWER] = answer
    message[_FREQUENCY] = frequency
    message[_PROBLEM] = problem
    return message


def content_of(message: Shareable) -> bytes:
    """Return the bytes that a message carries; none where there are none."""
    content = message.get(_CONTENT)
    return content if isinstance(content, bytes) else b""


def frequency_of(message: Shareable) -> str:
    """Return the step between rows of the client that answered."""
    return _printable(message.get(_FREQUENCY))


def answer_of(message: Shareable) -> tuple[Answer, str]:
    """Return which answer a client gave, and what its problem is, in few letters that can be printed.

    The answer is ``lost`` if NVIDIA FLARE answered instead of the client.
    """
    if message.get_return_code() != ReturnCode.OK:
        return "lost", str(message.get_return_code())
    answer, problem = message.get(_ANSWER), _printable(message.get(_PROBLEM))
    return (answer, problem) if answer in ("update", "refused") else ("failed", problem)


def _printable(text: object) -> str:
    return "".join(letter for letter in str(text)[:200] if letter.isprintable())
