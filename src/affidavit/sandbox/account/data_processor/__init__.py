"""The demo workload, packed as it is into the function `data-processor`."""
