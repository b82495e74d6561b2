"""A table of GuanDan as people see it: on a page, as text and as pictures."""
