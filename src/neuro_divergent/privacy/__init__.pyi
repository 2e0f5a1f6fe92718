from .accountant import (
    Rounds as Rounds,
    compute_delta as compute_delta,
    compute_epsilon as compute_epsilon,
    find_noise_multiplier as find_noise_multiplier,
)
from .audit import Audit as Audit, AuditResult as AuditResult
from .budget_meaning import BudgetMeaning as BudgetMeaning, explain_budget as explain_budget
from .client_level import ClientLevel as ClientLevel
from .ledger import Charge as Charge, Ledger as Ledger
from .mechanism import Mechanism as Mechanism
from .renyi import compute_renyi_epsilon as compute_renyi_epsilon
