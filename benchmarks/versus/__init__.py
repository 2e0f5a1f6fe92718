"""The sections of the comparison with NeuralForecast, one file each."""
