"""Files and flat arrays: folders of arrays with a manifest, tables of ids and hashes, checksums, durable writes."""
