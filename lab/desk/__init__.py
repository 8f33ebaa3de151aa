"""What notebooks show: a plan being fixed, runs side by side with the way back to raw records, pages of an edition.

`draft` is for notebook 10, `comparison` and `plots` for 30, `edition` for 40 and 50; notebook 20 is a run of its own.
"""
