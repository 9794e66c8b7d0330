"""The files of the product: demonstrations and models, written whole or not at all."""
