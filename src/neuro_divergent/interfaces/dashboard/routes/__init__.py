"""What the dashboard answers, by theme."""

from neuro_divergent.interfaces.dashboard.routes import (
    comparison,
    diagnosis,
    figures,
    forecasts,
    history,
    log,
    pages,
    report,
    runs,
    streams,
    wishes,
)

ROUTERS = tuple(
    part.router
    for part in (pages, runs, history, streams, forecasts, figures, diagnosis, log, report, comparison, wishes)
)
