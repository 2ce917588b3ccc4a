"""One table of markup per publisher (`reflink.formats.publishers.markup.Markup`)."""
