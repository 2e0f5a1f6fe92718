from .attribution import integrated_gradients as integrated_gradients, permutation_importance as permutation_importance
from .finding import Change as Change, Diagnosis as Diagnosis, Finding as Finding
from .gradients import (
    GradientReport as GradientReport,
    analyse_gradients as analyse_gradients,
    gradient_snapshot as gradient_snapshot,
)
from .network import analyse_network as analyse_network
