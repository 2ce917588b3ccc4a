"""Systems of other papers, measured beside reflink. Nothing here is in the path of the workers."""
