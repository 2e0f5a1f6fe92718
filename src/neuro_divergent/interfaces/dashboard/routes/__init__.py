"""Routes of the dashboard, one module per resource; ``ROUTERS`` lists them."""

from neuro_divergent.interfaces.dashboard.routes import (
    comparison,
    continuous,
    control_requests,
    diagnosis,
    federations,
    figures,
    forecasts,
    history,
    log,
    pages,
    pipelines,
    processes,
    registries,
    report,
    runs,
    streams,
    studies,
)

ROUTERS = tuple(
    part.router
    for part in (
        pages, runs, history, streams, forecasts, figures, diagnosis, log, report, comparison, control_requests,
        studies, federations, pipelines, continuous, registries, processes,
    )
)  # fmt: skip
