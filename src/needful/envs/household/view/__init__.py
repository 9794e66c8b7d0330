"""Pictures, films and 3D pages of a house."""
