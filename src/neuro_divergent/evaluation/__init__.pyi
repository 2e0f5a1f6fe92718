from .calibration import check_calibration as check_calibration
from .comparison.comparison import Comparison as Comparison
from .cross_validation.backtest import Backtest as Backtest
from .cross_validation.cross_validation import CrossValidation as CrossValidation
from .evaluate import Evaluation as Evaluation
from .leaderboard.leaderboard import Leaderboard as Leaderboard, run_leaderboard as run_leaderboard
from .learning_curve import LearningCurve as LearningCurve
