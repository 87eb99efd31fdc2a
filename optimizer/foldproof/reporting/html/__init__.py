"""Pages that show what was found: each is one file that stands alone and asks for nothing over the network."""
