"""A disk that refuses, at any call and in earnest: the error is ours, what was there stays, and a retry works."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.reliability.replay import Tree, last_survivals, write_tree
from tests.reliability.scenarios import Property, Recorded, Scenario, Violations, every_scenario, report
from tests.reliability.syscalls import Action, Call, Fail, Outcome, Shorten, run

SOAK = bool(os.environ.get("ND_SOAK"))
ERRORS = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT]
_CHANGES = {"write", "mkdir", "rename", "unlink", "rmdir", "link", "truncate", "chmod"}


def resuming(error: int, call: Call) -> bool:
    """Whether a disk that refused once refuses this call as well."""
    makes = call.name == "open" and bool(call.flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
    if error in (errno.ENOSPC, errno.EDQUOT):
        return makes or call.name in ("write", "mkdir")
    if error == errno.EIO:
        return call.name != "close"
    return makes or call.name in _CHANGES


def refusing(number: int, error: int, *, lasting: bool) -> Callable[[int, Call], Action | None]:
    """Be a disk that refuses one call or, from there on, all that it then would."""

    def refuse(current: int, call: Call) -> Action | None:
        fails = current == number or (lasting and current > number and resuming(error, call))
        return Fail(error) if fails else None

    return refuse


class Attempts:
    """Runs of a scenario on a disk that refuses, each from the same beginning."""

    def __init__(self, scenario: Scenario, place: Path) -> None:
        self.recorded = Recorded(scenario, place)
        self.place = place
        self.found = Violations()
        self.raised = self.returned = 0

    def run(self, refuse: Callable[[int, Call], Action | None], when: str, *, must_return: bool = False) -> Outcome:
        """Run once, look, and retry on a disk that works; return how the first run ended."""
        scenario, views = self.recorded.scenario, self.recorded.views
        root = self.place / "refused"
        write_tree(root, self.recorded.before)
        outcome = run(
            lambda: scenario.act(root), root, lambda number, call: refuse(number, call) or scenario.refuse(call)
        )
        if outcome.has_returned:
            self.returned += 1
            self._check_success(outcome, root, when)
        elif "StorageError" in outcome.errors and not must_return:
            self.raised += 1
            if scenario.exchanges:
                self.found.check(scenario, root, views, when)
        else:
            self.found.append(f"{when}: raised {outcome.errors[:1]}: {outcome.message}")
        if scenario.tidy is not None:
            scenario.tidy(root)
            self.found.check(scenario, root, views, f"{when}, then tidied")
        scenario.act(root)
        self.found.check(scenario, root, views[-1:], f"{when}, then retried")
        shutil.rmtree(root)
        return outcome

    def _check_success(self, outcome: Outcome, root: Path, when: str) -> None:
        """What is reported as done must be there, and stay there if the power goes."""
        scenario, views = self.recorded.scenario, self.recorded.views
        self.found.check(scenario, root, views[-1:], when)
        distinct: list[Tree] = []
        for tree in last_survivals(root, self.recorded.before, outcome.calls, Random(0), attempts=4):
            if (visible := _without_hidden(tree)) in distinct:
                continue
            distinct.append(visible)
            place = self.place / "survived"
            write_tree(place, visible)
            self.found.check(scenario, place, views[-1:], f"{when}, returned, then power lost")
            shutil.rmtree(place)


def _without_hidden(tree: Tree) -> Tree:
    """Leave out what no reader looks at, which is most of what may or may not be there."""
    return {
        name: node if isinstance(node, bytes) else _without_hidden(node)
        for name, node in tree.items()
        if not name.startswith(".")
    }


@every_scenario
def test_a_call_that_fails_is_told_and_harms_nothing(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    attempts = Attempts(scenario, watched_place)
    for number, call in enumerate(attempts.recorded.calls):
        for turn, error in enumerate(ERRORS):
            for lasting in (False, True):
                # In short, each call fails once, with one error after the other, and each third goes on failing.
                if not SOAK and ((number + lasting) % len(ERRORS) != turn or (lasting and number % 3)):
                    continue
                attempts.run(
                    refusing(number, error, lasting=lasting),
                    f"{errno.errorcode[error]} {'from' if lasting else 'at'} call {number}, {call}",
                )
    report(
        record_property, scenario, raised=attempts.raised, returned=attempts.returned, violations=len(attempts.found)
    )
    assert not attempts.found, str(attempts.found)


@every_scenario
def test_interrupted_and_short_writes_make_no_difference(
    scenario: Scenario, watched_place: Path, record_property: Property
) -> None:
    attempts = Attempts(scenario, watched_place)
    for number, call in enumerate(attempts.recorded.calls):
        # Python itself does not open a directory again to list it.
        is_listing = call.name == "open" and call.flags & os.O_DIRECTORY
        if call.name in ("open", "write", "fsync") and not is_listing:
            attempts.run(
                lambda current, _, number=number: Fail(errno.EINTR) if current == number else None,
                f"EINTR at call {number}, {call}",
                must_return=True,
            )
    cut = attempts.run(
        lambda _, call: Shorten() if call.name == "write" else None, "all writes cut to half", must_return=True
    )
    needed = [sum(call.name == "write" for call in calls) for calls in (attempts.recorded.calls, cut.calls)]
    assert needed[1] > needed[0] or needed == [0, 0]
    report(record_property, scenario, returned=attempts.returned, violations=len(attempts.found))
    assert not attempts.found, str(attempts.found)
