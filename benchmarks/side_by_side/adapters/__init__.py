"""How each optimizer is called, one file for one: `--tools` takes their names, or the paths of other such files.

A file says which `DISTRIBUTIONS` it needs, the optimizer's own first, and has a function `prepare(source, target,
external)`. It imports the optimizer and gives back a function without arguments, which reads the model at `source`,
optimizes it and writes it to `target`, with its weights in a file of their own if `external` says that the source has
them so. It is loaded in a process of its own, in which this package can't be imported.
"""
