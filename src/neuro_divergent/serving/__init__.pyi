from .exported_model import ExportedModel as ExportedModel, load as load
