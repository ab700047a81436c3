"""Plans: what would be changed, sealed so that an approval means exactly that."""
