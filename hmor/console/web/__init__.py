"""The operator's desk in the browser: server, clients, and the source of their frames."""
