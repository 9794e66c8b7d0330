"""Approaches: everything that learns from demonstrations and solves tasks, behind one interface."""
