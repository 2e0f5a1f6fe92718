from .description import Description as Description
from .exported_model import ExportedModel as ExportedModel, load as load
from .request import Request as Request, Series as Series
from .response import Forecast as Forecast
from .scoring.score_files import ScoringSummary as ScoringSummary, score_files as score_files
from .scoring.database import SqlQuery as SqlQuery
from .server.logged_forecasts import read_forecasts as read_forecasts, read_inputs as read_inputs
from .server.server import serve as serve
from .server.settings import Limits as Limits, ServerSettings as ServerSettings
