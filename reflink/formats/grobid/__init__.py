"""What is known of GROBID's fields, whether they come in its TEI or in the JSON of S2ORC."""
