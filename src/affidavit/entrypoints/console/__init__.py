"""The console: what a person sees in a browser. It reads; the little it does is asked for by forms and logged."""
