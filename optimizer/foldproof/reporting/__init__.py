"""What a run has to tell, and how it is shown."""
