"""What is learned: a trained distance, the folder it is saved in, and the models that come with the package."""
