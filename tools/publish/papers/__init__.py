"""The papers with which the programs begin: what of them is measured (paper.py)."""
