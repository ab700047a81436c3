"""Repairs of worker nodes: our own SSM document, and Auto Scaling's replacement of an instance."""
