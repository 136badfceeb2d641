"""What is needed to make parts of the program again, and not to run it."""
