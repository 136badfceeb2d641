"""Tools that build parts of the program. The program itself does not need them."""
