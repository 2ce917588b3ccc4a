"""Cost of each stage of the linker over the size of the catalog."""
