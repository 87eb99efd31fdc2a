"""What a result depends on besides the model: the options, the rules, and the versions of all that takes part."""

from __future__ import annotations

import hashlib
import json

from foldproof import __version__
from foldproof.certificates.digests import sha256_of, versions
from foldproof.certificates.statement import deciding_options, feed_digests, rule_packs
from foldproof.options import Options
from foldproof.rewriting.rule_modules import files_of

_OF_ONE_RUN = frozenset({"certificate", "feeds", "jobs", "report", "save_repro"})
"""Options that decide on other files, or on the speed; the feeds count by what is in them."""


def fingerprint(options: Options) -> str:
    """What names the options and the versions: 64 hexadecimal digits.

    Of a module of rules (`rules_from`) its files count, and of an installed pack its version.

    Raises:
        UsageError: A file of the person's own inputs can't be read.
    """
    parts = {
        "options": {name: value for name, value in deciding_options(options).items() if name not in _OF_ONE_RUN},
        "feeds": None if options.feeds is None else [each.to_dict() for each in feed_digests(options.feeds)],
        "rules_from": [[sha256_of(file) for file in files_of(name)] for name in options.rules_from],
        "versions": {"foldproof": __version__, **versions(rule_packs())},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
