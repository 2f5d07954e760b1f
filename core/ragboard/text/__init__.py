"""Text processing: sentences, words, stems, quotes and citations."""
