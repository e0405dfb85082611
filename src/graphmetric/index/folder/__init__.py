"""An index in a folder: segments whose arrays are memory-mapped, and one description that names them."""
