"""The shortest way from a table to a forecast with intervals."""

import neuro_divergent as nd
from neuro_divergent.data.datasets.bundled import air_passengers

training = nd.TrainingConfig(max_steps=300, threads=1)
forecaster = nd.Forecaster(nd.NHITS(hidden_size=128), horizon=12, input_size=36, training=training)
forecaster.fit(air_passengers())
print(forecaster.predict(levels=[80]))
