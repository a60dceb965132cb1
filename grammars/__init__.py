"""The shipped grammar files: one ``.peg`` per response format, and the libraries they import in ``lib/``."""
