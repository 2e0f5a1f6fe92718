"""How stages are connected, and the order in which they can run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.lifecycle.pipeline.step import Step


@dataclass(frozen=True)
class Reference:
    """An output of a stage, or something that is given to the pipeline.

    Attributes:
        producer: Name of the stage, or of the source.
        output: Name of the output.
    """

    producer: str
    output: str

    def __str__(self) -> str:
        return f"{self.producer}.{self.output}"


class Graph:
    """Connects stages: each input is what its stage says, or the nearest earlier output of its name.

    Args:
        steps: The stages in the order in which they were given.
        sources: Names of outputs of each source of data.

    Raises:
        ConfigError: If two stages have one name, an input does not exist, or stages need each other in a circle.
    """

    def __init__(self, steps: Sequence[Step], sources: Mapping[str, Collection[str]]) -> None:
        self.steps = {step.name: step for step in steps}
        self._sources = sources
        names = [*(step.name for step in steps), *sources]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            what = "a stage and a source of data have" if twice in sources else "two stages have"
            raise ConfigError(f"{what} the name {twice!r}; give one of them another with name=.")
        self.inputs = {step.name: self._connect(step, list(steps)[:position]) for position, step in enumerate(steps)}
        self.order = self._sort()

    @cached_property
    def edges(self) -> list[tuple[str, str, str, str]]:
        """All connections: stage or source, its output, stage, its input."""
        return [
            (reference.producer, reference.output, name, port)
            for name in self.order
            for port, reference in self.inputs[name].items()
        ]

    def needs(self, name: str) -> list[str]:
        """Return the stages that a stage takes something from."""
        found = dict.fromkeys(reference.producer for reference in self.inputs[name].values())
        return [producer for producer in found if producer in self.steps]

    def ancestors(self, names: Iterable[str]) -> list[str]:
        """Return some stages and all that they need, in order."""
        wanted, todo = set[str](), list(names)
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += self.needs(name)
        return [name for name in self.order if name in wanted]

    def require(self, name: str) -> str:
        """Return the name of a stage, or raise with the closest one."""
        if name not in self.steps:
            raise ConfigError(
                f"there is no stage {name!r}.{did_you_mean(name, self.steps)} Stages: {', '.join(self.steps)}."
            )
        return name

    def _connect(self, step: Step, earlier: Sequence[Step]) -> dict[str, Reference]:
        ports = {port.name: port for port in step.work.ports}
        for name in step.inputs:
            if name not in ports:
                hint = did_you_mean(name, ports) or f" It has: {', '.join(ports) or 'none'}."
                raise ConfigError(f"stage {step.name!r}: there is no input {name!r}.{hint}")
        found = {}
        for name, port in ports.items():
            if name in step.inputs:
                found[name] = self._resolve(step, name, step.inputs[name])
                continue
            nearest = self._nearest(name, earlier) if port.is_automatic else None
            if nearest is not None:
                found[name] = nearest
            elif port.is_required:
                raise ConfigError(self._explain_missing(step, name, earlier))
        return found

    def _nearest(self, name: str, earlier: Sequence[Step]) -> Reference | None:
        for step in reversed(earlier):
            if name in step.work.outputs:
                return Reference(step.name, name)
        for source, outputs in self._sources.items():
            if name in outputs and (source == "data" or name != "table"):
                return Reference(source, name)
        # A source of its own can be taken by its name.
        return Reference(name, "table") if "table" in self._sources.get(name, ()) else None

    def _resolve(self, step: Step, port: str, text: str) -> Reference:
        known = {**{name: item.work.outputs for name, item in self.steps.items()}, **self._sources}
        producer, dot, output = str(text).partition(".")
        place = f"stage {step.name!r}, input {port!r}"
        if producer not in known:
            hint = did_you_mean(producer, known) or f" There are: {', '.join(known)}."
            raise ConfigError(f"{place}: there is no stage or source {producer!r}.{hint}")
        outputs = list(known[producer])
        if not dot:
            output = port if port in outputs else outputs[0] if len(outputs) == 1 else ""
        if output not in outputs:
            hint = did_you_mean(output, outputs) or f" It has: {', '.join(outputs) or 'none'}."
            wrong = f"{producer!r} has no output {output!r}" if output else f"{producer!r} has several outputs"
            raise ConfigError(f"{place}: {wrong}.{hint}")
        return Reference(producer, output)

    def _explain_missing(self, step: Step, port: str, earlier: Sequence[Step]) -> str:
        known = [*(name for item in earlier for name in item.work.outputs), *self._sources]
        later = [item.name for item in self.steps.values() if port in item.work.outputs and item.name != step.name]
        if later:
            said = f"inputs={{{port!r}: '{later[0]}.{port}'}}"
            cure = f" Stage {later[0]!r} gives it, and comes later; put it before, or say {said}."
        else:
            cure = did_you_mean(port, known) or f" There are: {', '.join(dict.fromkeys(known)) or 'none'}."
        return f"stage {step.name!r}: nothing before it gives its input {port!r}.{cure}"

    def _sort(self) -> list[str]:
        position = {name: place for place, name in enumerate(self.steps)}
        sorter = TopologicalSorter({name: self.needs(name) for name in self.steps})
        try:
            sorter.prepare()
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise ConfigError(f"stages need each other in a circle: {circle}.") from None
        order, ready = [], list(sorter.get_ready())
        while ready:
            ready.sort(key=position.__getitem__)
            name = ready.pop(0)
            order.append(name)
            sorter.done(name)
            ready += sorter.get_ready()
        return order
