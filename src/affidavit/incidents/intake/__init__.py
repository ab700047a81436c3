"""Reads alerts: from the event that arrived to the incidents it reports."""
