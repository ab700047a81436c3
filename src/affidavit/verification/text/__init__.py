"""Holds the free text of a diagnosis to the recorded answers: names, numbers, times, orders."""
