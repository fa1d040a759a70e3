"""Generators of cases, one file a family of ops. The package above documents how to write them."""
