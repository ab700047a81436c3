"""What the Critic checks of one action: that its source says it, and that it is about the subject of the incident."""
