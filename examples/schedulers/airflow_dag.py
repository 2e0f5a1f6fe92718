"""A pipeline as an Airflow DAG: a task for each stage, which runs that stage alone.

An example, not a dependency. The commands are those that a person would type. Tasks that run at the same time wait for
each other, because one process at a time works on the directory of a pipeline.
"""

from __future__ import annotations

import pendulum
from airflow.decorators import dag
from airflow.operators.bash import BashOperator

FILE = "/srv/sales/pipeline.toml"
STAGES = ("data_validation", "preprocessing", "feature_engineering", "training", "evaluation", "model_registration")


@dag(schedule="0 4 * * *", start_date=pendulum.datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def sales_forecast() -> None:
    """Run the stages one after the other; a stage whose inputs have not changed is done at once."""
    before = None
    for name in STAGES:
        command = f"nd pipeline run {FILE} --stage {name} --wait 3600"
        task = BashOperator(task_id=name, bash_command=command)
        if before is not None:
            before >> task
        before = task


sales_forecast()
