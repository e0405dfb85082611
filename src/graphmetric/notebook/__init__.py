"""An index explored in a notebook."""
