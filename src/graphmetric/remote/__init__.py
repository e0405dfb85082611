"""A service as its clients see it: the index behind an address, and its JSON. Needs neither a server nor torch."""
