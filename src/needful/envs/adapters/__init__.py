"""Other people's simulators as environments: snapshots, MuJoCo, PyBullet, Gymnasium and real robots."""
