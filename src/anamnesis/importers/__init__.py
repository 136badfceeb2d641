"""What other programs remember, taken over as notes."""
