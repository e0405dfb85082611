"""Neural baselines: their encoders and pair networks, behind the training of :mod:`graphmetric.training`.

Each is a :class:`~graphmetric.model.TrainableDistance`: an encoder of one graph and a distance of two encoded ones. A
network that lets two graphs look at each other has a trivial encoder and does its work in the distance.
"""
