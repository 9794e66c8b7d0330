"""Adapters for third-party simulators and real robots: snapshots, MuJoCo, PyBullet, Gymnasium, robots."""
