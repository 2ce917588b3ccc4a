"""Whether the links after any history are those of a fresh run over what is there at its end."""
