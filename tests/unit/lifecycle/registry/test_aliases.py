"""Aliases that move, and their history."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConflictError, InputError
from neuro_divergent.lifecycle.registry.alias_change import AliasChange
from neuro_divergent.lifecycle.registry.registry import Registry
from tests.unit.lifecycle.registry.models import SavedModel


@pytest.fixture
def three(registry: Registry, saved: SavedModel) -> Registry:
    for number in range(3):
        registry.register(saved.write(number), "sales")
    return registry


def check_chain(history: list[AliasChange]) -> None:
    """Check that each change begins where the one before it ended."""
    before: dict[str, int] = {}
    for revision, change in enumerate(history, 1):
        assert change.revision == revision
        assert change.aliases_before == before
        assert change.aliases != before
        before = change.aliases


def test_a_new_champion_makes_the_old_one_previous_and_is_challenger_no_more(three: Registry) -> None:
    assert three.promote("sales==v1") == 1
    assert three.aliases("sales") == {"champion": 1}
    three.promote("sales==v2", "challenger")
    assert three.aliases("sales") == {"challenger": 2, "champion": 1}
    assert three.promote("sales@challenger", reason="better", evidence={"e": 21.0}) == 3
    assert three.aliases("sales") == {"champion": 2, "previous": 1}
    last = three.history("sales")[-1]
    assert (last.action, last.alias, last.before, last.after) == ("promote", "champion", 1, 2)
    assert (last.reason, last.evidence) == ("better", {"e": 21.0})
    assert three.get("sales==v2").aliases == ("champion",)
    check_chain(three.history("sales"))


def test_a_rollback_restores_the_previous_champion_once(three: Registry) -> None:
    three.promote("sales==v1")
    three.promote("sales==v3")
    three.rollback("sales", reason="worse than naive")
    assert three.aliases("sales") == {"champion": 1}
    with pytest.raises(InputError, match="no previous champion"):
        three.rollback("sales")
    assert three.history("sales")[-1].reason == "worse than naive"
    check_chain(three.history("sales"))


def test_a_promotion_that_is_repeated_changes_nothing(three: Registry) -> None:
    assert three.promote("sales==v1", expect=0) == 1
    assert three.promote("sales==v1", expect=0) == 1
    assert len(three.history("sales")) == 1


def test_a_decision_made_at_another_revision_is_refused(three: Registry) -> None:
    three.promote("sales==v1")
    three.promote("sales==v2")
    for attempt in (
        lambda: three.promote("sales==v3", expect=1),
        lambda: three.rollback("sales", expect=1),
        lambda: three.remove_alias("sales", "champion", expect=1),
    ):
        with pytest.raises(ConflictError, match="at revision 2, not 1") as error:
            attempt()
        assert (error.value.expected, error.value.found) == (1, 2)
    assert three.aliases("sales") == {"champion": 2, "previous": 1}
    assert three.promote("sales==v3", expect=three.revision("sales")) == 3


def test_an_alias_is_removed(three: Registry) -> None:
    three.promote("sales==v1", "eu-west")
    assert three.remove_alias("sales", "eu-west") == 2
    assert three.remove_alias("sales", "eu-west") == 2
    assert three.aliases("sales") == {}


def test_aliases_of_an_unknown_model(three: Registry) -> None:
    assert three.aliases("other") == {}
    assert three.revision("other") == 0
    for attempt in (three.rollback, three.history, three.promote):
        with pytest.raises(InputError, match="There is no model"):
            attempt("other")


def test_the_database_itself_refuses_dangling_aliases_and_a_second_row_of_a_revision(three: Registry) -> None:
    three.promote("sales==v1")
    for statement in (
        "UPDATE registry_aliases SET number = 9",
        "DELETE FROM registry_versions WHERE number = 1",
        "INSERT INTO registry_alias_changes SELECT * FROM registry_alias_changes",
        "UPDATE registry_versions SET number = 2 WHERE number = 3",
    ):
        with pytest.raises(sa.exc.IntegrityError), three._database.write() as connection:
            connection.execute(sa.text(statement))


ACTIONS = st.one_of(
    st.tuples(st.just("promote"), st.integers(1, 3), st.sampled_from(["champion", "challenger", "other"])),
    st.tuples(st.just("rollback"), st.just(0), st.just("")),
    st.tuples(st.just("remove"), st.just(0), st.sampled_from(["champion", "challenger", "previous"])),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ACTIONS, max_size=12))
def test_any_sequence_of_changes_is_one_chain_that_ends_at_the_present(
    three: Registry, actions: list[tuple[str, int, str]]
) -> None:
    expected = three.aliases("sales")
    for action, number, alias in actions:
        if action == "promote":
            three.promote(f"sales==v{number}", alias)
            if alias == "champion" and expected.get("champion", number) != number:
                expected["previous"] = expected["champion"]
            if alias == "champion" and expected.get("challenger") == number:
                del expected["challenger"]
            expected[alias] = number
        elif action == "remove":
            three.remove_alias("sales", alias)
            expected.pop(alias, None)
        elif "previous" in expected:
            three.rollback("sales")
            expected["champion"] = expected.pop("previous")
        else:
            with pytest.raises(InputError):
                three.rollback("sales")
        assert three.aliases("sales") == expected
    history = three.history("sales")
    check_chain(history)
    assert not history or history[-1].aliases == expected
    assert three.revision("sales") == len(history)


def test_a_path_is_not_needed_to_read_aliases(three: Registry, tmp_path: Path) -> None:
    with Registry(tmp_path / "models", create=False) as other:
        assert other.aliases("sales") == three.aliases("sales")
