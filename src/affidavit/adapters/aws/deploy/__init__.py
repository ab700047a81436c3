"""Deploys the stacks and checks a deployment."""
