"""Who may do what: roles, grants, and the reason for every star."""
