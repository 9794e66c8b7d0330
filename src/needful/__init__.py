"""needful"""
