"""Ask a server for a forecast: ``nd serve model.onnx``, then ``python client.py http://127.0.0.1:8080``."""

import json
import os
import sys
import urllib.request

address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
headers = {"content-type": "application/json"}
if token := os.environ.get("ND_SERVE_TOKEN"):
    headers["authorization"] = f"Bearer {token}"
with urllib.request.urlopen(urllib.request.Request(f"{address}/models", headers=headers)) as response:
    model = json.load(response)["models"][0]
history = [50 + place % 24 for place in range(model["input_size"])]
series = {"id": "A", "end": "2024-01-31T23:00:00", "y": history}  # "end" is the time of the last value
body = json.dumps({"series": [series]}).encode()
with urllib.request.urlopen(urllib.request.Request(f"{address}/forecast", body, headers)) as response:
    answer = json.load(response)
print(answer["model_version"][:12], answer["series"][0]["forecast"])
