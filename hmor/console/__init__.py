"""The operator's desk: control socket of a test, console in the browser, text view, pre-test sheet."""
