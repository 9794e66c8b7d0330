"""Abstract states of states, their encoding as integers, and joins over them."""
