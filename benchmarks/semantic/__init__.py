"""The semantic engine, measured side by side in one run."""
