"""Keys, locators, the verdict and the baselines: what they find, and what they cost."""
