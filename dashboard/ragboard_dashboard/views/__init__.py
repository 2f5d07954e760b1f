"""One module a page, each with one function `page()`."""
