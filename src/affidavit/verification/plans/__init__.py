"""Gates the steps of a plan: what is never advised, how risky a step is, and whether it needs approval."""
