from .reporting.export import write_figure as write_figure
from .reporting.plots import (
    plot_architecture as plot_architecture,
    plot_calibration as plot_calibration,
    plot_comparison as plot_comparison,
    plot_folds as plot_folds,
    plot_forecast as plot_forecast,
    plot_history as plot_history,
    plot_importance as plot_importance,
    plot_layers as plot_layers,
    plot_learning_curve as plot_learning_curve,
    plot_ranking as plot_ranking,
    plot_residuals as plot_residuals,
    plot_schedule as plot_schedule,
    plot_scores as plot_scores,
)
