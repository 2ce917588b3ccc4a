"""The linker and the fallback: from references to outcomes."""
