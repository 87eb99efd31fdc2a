"""Certificates: what a run did, written so that others can check it.

`recorder` keeps each rewrite, `restating` makes claims of them, `statement` writes them down with all else. The checker
(`document`, `constants`, `instances`, `trial`, `checker`) takes nothing of the rewriter, the rules, the folding or the
facts. So nothing may be imported here.
"""
