"""Evaluations with commands of their own: ``reflink evaluate NAME``. Each module has the interface of a command."""
