"""The hub's dashboard: what a person may see and do there. It looks like the local one, and shares its templates."""
