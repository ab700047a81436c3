"""Signs what was found (Ed25519): in-toto statements in DSSE envelopes, which other tools can check too."""
