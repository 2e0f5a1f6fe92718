"""How stages are connected and ordered."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.graph import Graph
from neuro_divergent.lifecycle.pipeline.stages.data_validation import DataValidation
from neuro_divergent.lifecycle.pipeline.stages.evaluation import Evaluation
from neuro_divergent.lifecycle.pipeline.stages.feature_engineering import FeatureEngineering
from neuro_divergent.lifecycle.pipeline.stages.preprocessing import Preprocessing
from neuro_divergent.lifecycle.pipeline.stages.training import Training

DATA = {"data": ("table", "schema")}


def make(**parameters: object) -> object:
    return None


def test_chain_of_built_in_stages_needs_no_wiring() -> None:
    works = [DataValidation(), Preprocessing(), FeatureEngineering(), Training(task={"horizon": 2}), Evaluation()]
    graph = Graph([stage(work) for work in works], DATA)
    assert graph.order == [work.name for work in works]
    found = {name: {port: str(ref) for port, ref in inputs.items()} for name, inputs in graph.inputs.items()}
    assert found["preprocessing"] == {"table": "data_validation.table", "schema": "data.schema"}
    assert found["training"] == {
        "table": "feature_engineering.table",
        "schema": "feature_engineering.schema",
        "future": "feature_engineering.future",
    }
    assert found["evaluation"] == {"model": "training.model", "run": "training.run"}


def test_explicit_reference_to_a_later_stage_decides_about_the_order() -> None:
    first = stage(make, name="first", inputs={"x": "second.out"}, outputs="a")
    second = stage(make, name="second", inputs={"table": "data.table"}, outputs="out")
    graph = Graph([first, second], DATA)
    assert graph.order == ["second", "first"]
    assert graph.ancestors(["first"]) == ["second", "first"]


def test_reference_without_output_takes_the_one_of_the_same_name_or_the_only_one() -> None:
    one = stage(make, name="one", inputs={"table": "data"}, outputs=["table", "other"])
    two = stage(make, name="two", inputs={"table": "one"}, outputs="value")
    three = stage(make, name="three", inputs={"x": "two"}, outputs="table")
    graph = Graph([one, two, three], DATA)
    assert str(graph.inputs["two"]["table"]) == "one.table"
    assert str(graph.inputs["three"]["x"]) == "two.value"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"table": "claen.table"}, "there is no stage or source 'claen'. Did you mean 'clean'?"),
        ({"table": "clean.tabel"}, "'clean' has no output 'tabel'. Did you mean 'table'?"),
        ({"tabel": "clean.table"}, "there is no input 'tabel'. Did you mean 'table'?"),
        ({"table": "clean"}, None),
    ],
)
def test_unknown_input_is_an_error_with_the_closest_name(inputs: dict[str, str], message: str | None) -> None:
    clean = stage(Preprocessing(), name="clean")
    checked = stage(DataValidation(), name="checked", inputs=inputs)
    if message is None:
        assert str(Graph([clean, checked], DATA).inputs["checked"]["table"]) == "clean.table"
        return
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        Graph([clean, checked], DATA)


def test_missing_input_names_the_stage_that_gives_it_later() -> None:
    steps = [stage(Evaluation()), stage(Training(task={"horizon": 2}))]
    with pytest.raises(
        ConfigError, match=r"stage 'evaluation': nothing before it gives its input 'model'. Stage 'training'"
    ):
        Graph(steps, DATA)


def test_cycle_is_an_error_with_its_stages() -> None:
    names = ["a", "b", "c"]
    before = {"a": "c", "b": "a", "c": "b"}
    steps = [stage(make, name=name, inputs={"x": f"{before[name]}.out"}, outputs="out") for name in names]
    with pytest.raises(ConfigError, match=r"in a circle: a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c"):
        Graph(steps, DATA)


def test_two_stages_with_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two stages have the name 'preprocessing'"):
        Graph([stage(Preprocessing()), stage(Preprocessing())], DATA)
    with pytest.raises(ConfigError, match="a stage and a source of data have the name 'data'"):
        Graph([stage(Preprocessing(), name="data")], DATA)


@pytest.mark.parametrize("name", ["", "a.b", "a/b", " a", "a\n", "x" * 101])
def test_names_that_cannot_be_referred_to_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a stage"):
        stage(Preprocessing(), name=name or " ")


def test_names_may_have_any_letters() -> None:
    graph = Graph([stage(Preprocessing(), name="prépa ration-数据"), stage(DataValidation())], DATA)
    assert str(graph.inputs["data_validation"]["table"]) == "prépa ration-数据.table"


@given(
    st.integers(2, 7).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    )
)
def test_order_of_any_graph_puts_needs_first_and_finds_every_cycle(case: tuple[int, set[tuple[int, int]]]) -> None:
    count, links = case
    steps = [
        stage(make, name=f"s{place}", inputs={f"x{a}": f"s{a}.out" for a, b in links if b == place}, outputs="out")
        for place in range(count)
    ]
    reach = {(a, b) for a, b in links}
    for middle, a, b in itertools.product(range(count), repeat=3):  # Warshall, one pass for each middle
        if (a, middle) in reach and (middle, b) in reach:
            reach.add((a, b))
    if any((place, place) in reach for place in range(count)):
        with pytest.raises(ConfigError, match="in a circle"):
            Graph(steps, {})
        return
    order = Graph(steps, {}).order
    assert sorted(order) == sorted(f"s{place}" for place in range(count))
    assert all(order.index(f"s{a}") < order.index(f"s{b}") for a, b in links)
