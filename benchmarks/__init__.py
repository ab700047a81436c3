"""Speed as ratios against peers, measured in one run on one machine. Timing never decides whether a test passes."""
