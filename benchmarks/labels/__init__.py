"""reflink against labels that others gave: whose sets, what they published, and how far that compares."""
