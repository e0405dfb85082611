"""The HTTP service over an index, with its page (the extra ``serve``).

A request passes :mod:`guard` (token, host, size and time of the body), is checked by the models of :mod:`schema`, and
waits for its turn in a lane of :mod:`lanes`, where :mod:`service` answers it. :mod:`graphmetric.remote.serialization`
writes the answers.
"""
