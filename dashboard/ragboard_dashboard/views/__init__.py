"""A folder for each page: `page.py` with its function `draw()`, and what only this page has, widgets included."""
