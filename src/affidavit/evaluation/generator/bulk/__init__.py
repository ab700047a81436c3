"""Big bundles for measuring speed."""
