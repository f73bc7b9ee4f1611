"""What the JSON of providers' APIs means, one package for each API. No SDK and no transport is known here."""
