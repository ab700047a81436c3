"""Repairs of the way out of a function's VPC: egress rules, entries of network ACLs, routes."""
