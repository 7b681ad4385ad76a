"""Tables: reading and writing files, any dataframe in and out, encoding to a matrix, aggregation back."""
