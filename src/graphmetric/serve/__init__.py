"""The HTTP service over an index, with its page, and the Python client (the extra ``serve`` is for the service only).

A request passes :mod:`guard` (token, host, size and time of the body), is checked by the models of :mod:`schema`, and
waits for its turn in a lane of :mod:`lanes`, where :mod:`service` answers it in the form of :mod:`wire`.
"""
