"""Every architecture beside the one of the same name in NeuralForecast."""
