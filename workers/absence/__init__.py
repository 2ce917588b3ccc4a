"""The shares of works absent from the catalog, as the topic ``absence`` has them."""
