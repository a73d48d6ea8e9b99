"""Published rewards that are sums of several terms, as templates."""

from assay.verifiers.rules.rule import Profile

PROFILES: tuple[Profile, ...] = ()
