"""The command line: a face. It reads the environment, prints and exits; it holds no rule."""
