"""Baselines, protocols and experiments that reproduce the tables of the paper, and others beyond it.

::

    baselines/       the methods that the learned distance is compared with, behind one interface
    protocols.py     which pairs train, tune and test
    run_record.py    one JSON file per run, and tables of many runs with published numbers
    reproduction/    the experiments
    cli.py           the command graphmetric-research
"""
