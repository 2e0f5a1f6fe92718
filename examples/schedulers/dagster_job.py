"""A pipeline as a Dagster job: an op for each stage, which runs that stage alone.

An example, not a dependency. The commands are those that a person would type.
"""

from __future__ import annotations

import subprocess

from dagster import Definitions, In, Nothing, OpDefinition, OpExecutionContext, ScheduleDefinition, job, op

FILE = "/srv/sales/pipeline.toml"
STAGES = ("data_validation", "preprocessing", "feature_engineering", "training", "evaluation", "model_registration")


def stage_op(name: str) -> OpDefinition:
    """Return an op that runs a stage after another one."""

    @op(name=name, ins={"before": In(Nothing)})
    def run_stage(context: OpExecutionContext) -> None:
        command = f"nd pipeline run {FILE} --stage {name} --wait 3600"
        context.log.info(command)
        subprocess.run(command.split(), check=True)

    return run_stage


@op
def begin() -> None:
    """Begin."""


@job
def sales_forecast() -> None:
    """Run the stages one after the other; a stage whose inputs have not changed is done at once."""
    before = begin()
    for name in STAGES:
        before = stage_op(name)(before)


definitions = Definitions(
    jobs=[sales_forecast], schedules=[ScheduleDefinition(job=sales_forecast, cron_schedule="0 4 * * *")]
)
