"""Systems of other papers, which link the same references to the same works. Nothing here is in the path of the workers."""
