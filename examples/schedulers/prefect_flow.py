"""A pipeline as a Prefect flow: a task for each stage, which runs that stage alone.

An example, not a dependency. The commands are those that a person would type.
"""

from __future__ import annotations

import subprocess

from prefect import flow, task

FILE = "/srv/sales/pipeline.toml"
STAGES = ("data_validation", "preprocessing", "feature_engineering", "training", "evaluation", "model_registration")


@task(task_run_name="{name}")
def run_stage(name: str) -> None:
    """Run a stage; one whose inputs have not changed is done at once."""
    command = f"nd pipeline run {FILE} --stage {name} --wait 3600"
    subprocess.run(command.split(), check=True)


@flow
def sales_forecast() -> None:
    """Run the stages one after the other."""
    for name in STAGES:
        run_stage(name)


if __name__ == "__main__":
    sales_forecast.serve(name="daily", cron="0 4 * * *")
