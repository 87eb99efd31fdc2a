"""Where the nodes of an optimized model come from, and where those of the original went: kept in the model itself."""

from foldproof.provenance.record import Gone, Origin, Record, has_node_metadata
from foldproof.provenance.tracker import Tracker

__all__ = ["Gone", "Origin", "Record", "Tracker", "has_node_metadata"]
