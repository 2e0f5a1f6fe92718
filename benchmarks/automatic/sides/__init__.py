"""Programs that forecast one panel each; they are handed a directory, because their environments differ."""
