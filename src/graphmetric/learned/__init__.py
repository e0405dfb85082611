"""A trained distance, the folder it is saved in, its model card, and the models that come with the package."""
