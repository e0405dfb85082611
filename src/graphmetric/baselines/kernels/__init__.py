"""Graph kernels that the paper cites, as distances; see :mod:`graphmetric.baselines.kernels.kernel_distance`."""
