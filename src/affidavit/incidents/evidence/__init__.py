"""Evidence first: a node's incident is investigated once its bundle is there, or once nobody can bring one."""
