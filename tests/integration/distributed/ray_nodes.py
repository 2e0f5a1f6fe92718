"""Starts a Ray cluster of two nodes with a CPU each on this machine, says its address, and ends with its input.

The tests run it in a process of its own: Ray belongs to the process that started it.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster

MEMORY = 100 << 20

if __name__ == "__main__":
    options = {"num_cpus": 1, "object_store_memory": MEMORY, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
    try:
        cluster.add_node(**options)
        sys.stdout.write(f"address {cluster.address}\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        cluster.shutdown()
