from .events import read_events as read_events
from .history_reader import read_history as read_history
from .status import RunSummary as RunSummary, describe_run as describe_run, list_runs as list_runs
