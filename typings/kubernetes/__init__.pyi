"""What we use of the official client of Kubernetes, which ships no types."""
