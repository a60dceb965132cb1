"""Lowered grammars: from a format's rules and JSON schemas to the notations that samplers read."""
