"""Large catalogs, and the accuracy of linkers on them."""
