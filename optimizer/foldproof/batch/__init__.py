"""Many models: each in a process of its own, on this machine or on a cluster, and only what is left to do."""
