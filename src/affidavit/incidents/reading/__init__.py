"""What readers are shown of an incident, the same at every door: the record, lists, the journal, proof again."""
