"""The version of the lab, stored with every run."""

__version__ = "0.1.0"
