"""What is stored: graphs in segments, with what a learned distance made of them, in memory or in a folder."""
