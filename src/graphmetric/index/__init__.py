"""What is stored: graphs in segments with what a learned distance needs to find them, in memory or in a folder."""
