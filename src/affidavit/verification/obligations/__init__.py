"""What a conclusion needs before it is proven: kept as data with samples, evaluated on recorded answers."""
