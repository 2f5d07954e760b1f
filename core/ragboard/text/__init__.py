"""Text processing: sentences, words, stems, and positions of quotes."""
