from .continuous.continuous import Continuous as Continuous
from .continuous.settings import ContinuousConfig as ContinuousConfig
from .drift.alpha_spending import AlphaSpending as AlphaSpending
from .drift.detection import detect_drift as detect_drift
from .drift.errors import Errors as Errors, forecast_errors as forecast_errors
from .drift.feed import check_feed as check_feed
from .drift.input_drift import input_drift as input_drift
from .drift.model_check import check_inputs as check_inputs, check_model as check_model
from .drift.model_errors import model_errors as model_errors
from .pipeline.error_policy import ErrorPolicy as ErrorPolicy, retry as retry
from .pipeline.function_stage import stage as stage
from .pipeline.pipeline import Pipeline as Pipeline
from .pipeline.stage_error import StageFailedError as StageFailedError
from .pipeline.stages.data_validation import DataValidation as DataValidation
from .pipeline.stages.evaluation import Evaluation as Evaluation
from .pipeline.stages.feature_engineering import FeatureEngineering as FeatureEngineering
from .pipeline.stages.hyperparameter_tuning import HyperparameterTuning as HyperparameterTuning
from .pipeline.stages.model_registration import ModelRegistration as ModelRegistration
from .pipeline.stages.preprocessing import Preprocessing as Preprocessing
from .pipeline.stages.training import Training as Training
from .promotion.e_process import EProcess as EProcess
from .promotion.gate import Gate as Gate
from .promotion.shadow_test import ShadowTest as ShadowTest
from .registry.model_version import ModelVersion as ModelVersion
from .registry.registry import Registry as Registry
