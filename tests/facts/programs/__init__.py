"""Random models that compute with shapes."""
