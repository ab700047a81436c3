"""What AWS knows of a host without asking it: its cluster's API, its serial console, the logs it sent."""
