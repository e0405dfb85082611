"""A trained distance, the folder it is saved in, its model card, and the models that come with the package."""

from graphmetric.errors import needs_extra

with needs_extra("learn", "a learned distance"):
    import torch as _torch  # noqa: F401
