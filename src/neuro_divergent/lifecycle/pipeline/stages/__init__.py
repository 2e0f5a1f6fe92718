"""Built-in stages, one file each: tables, values and models come in, the same come out."""
