"""`dancfr play` and `dancfr replay`: games in a page of the browser.

`room` holds the tables (`table`), each of them one game (`position`) with seats for users and agents; `server` connects
pages with them. What a viewer may know of a game is written down by its display (`displays`) and drawn by the modules
in `page/`; nothing else leaves the server.
"""
