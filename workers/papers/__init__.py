"""The parser stage: from papers to references, manifests and catalog works; and publishing of papers."""
